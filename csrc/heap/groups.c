/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of objects: one for each way in which objects are reached, as a path of types.
 *
 * A chain is one group: an object whose type is that of an object a few steps above belongs to the group of
 * that one. Lists within lists and dicts below instances say nothing of the kind, so a builtin container
 * joins only its own direct owner. Keys are hashes of labels and type names: the same in every walk.
 */
#include "heap.h"

#define LOOK_BACK 8

static int find(Groups *groups, uint64_t key, uint32_t parent, uint32_t kind, uint32_t *found) {
    if (column_reserve(&groups->groups, 1) < 0 || column_reserve(&groups->keys, 1) < 0 ||
        index_reserve(&groups->index, groups->groups.used + 1, &groups->keys) < 0) {
        return -1;
    }
    size_t slot = spread(key) & groups->index.mask;
    for (uint32_t entry; (entry = AT(groups->index.slots, uint32_t, slot)) != 0;
         slot = (slot + 1) & groups->index.mask) {
        if (AT(groups->keys, uint64_t, entry - 1) == key) {
            *found = entry - 1;
            return 0;
        }
    }
    size_t at = groups->groups.used++;
    groups->keys.used++;
    uint32_t depth = parent == NOBODY ? 0 : AT(groups->groups, Group, parent).depth + 1;
    AT(groups->keys, uint64_t, at) = key;
    AT(groups->groups, Group, at) = (Group){0, parent, kind, 0, depth, NOBODY};
    AT(groups->index.slots, uint32_t, slot) = (uint32_t)at + 1;
    *found = (uint32_t)at;
    return 0;
}

int groups_root(Groups *groups, uint64_t key, uint32_t kind, uint32_t *found) {
    return find(groups, mix(key) | 1, NOBODY, kind, found);
}

/* The group above that an object of this type continues, or NOBODY. */
static uint32_t continued(const Groups *groups, const Kinds *kinds, uint32_t parent, uint32_t kind) {
    const Group *above = &AT(groups->groups, Group, parent);
    if (above->kind == kind || above->depth >= DEEPEST) {
        return parent;
    }
    if (AT(kinds->kinds, Kind, kind).plain) {
        return NOBODY;
    }
    uint32_t at = above->parent;
    for (int steps = 0; at != NOBODY && steps < LOOK_BACK; steps++, at = AT(groups->groups, Group, at).parent) {
        if (AT(groups->groups, Group, at).kind == kind) {
            return at;
        }
    }
    return NOBODY;
}

static int find_child(Groups *groups, const Kinds *kinds, uint32_t parent, uint32_t kind, uint32_t *found) {
    uint32_t same = continued(groups, kinds, parent, kind);
    if (same != NOBODY) {
        *found = same;
        return 0;
    }
    uint64_t key = mix(AT(groups->keys, uint64_t, parent) * 31 + AT(kinds->kinds, Kind, kind).name);
    return find(groups, key, parent, kind, found);
}

int groups_child(Groups *groups, const Kinds *kinds, uint32_t parent, uint32_t kind, uint32_t *found) {
    if (parent == OWN_GROUP) {
        *found = parent;
        return 0;
    }
    if (AT(groups->groups, Group, parent).parent == UNROOTED_GROUP) {
        parent = UNROOTED_GROUP; /* which of them is met first is chance: they are grouped by type alone */
    }
    size_t place = (parent * 31 + kind * 7919u) % GROUPS_RECENT;
    if (groups->recent[place].parent == parent && groups->recent[place].kind == kind && parent != 0) {
        *found = groups->recent[place].child;
        return 0;
    }
    if (find_child(groups, kinds, parent, kind, found) < 0) {
        return -1;
    }
    groups->recent[place].parent = parent;
    groups->recent[place].kind = kind;
    groups->recent[place].child = *found;
    return 0;
}

static uint64_t bytes_of(const Walk *walk, size_t at) {
    uint32_t size = AT(walk->size, uint32_t, at);
    for (size_t one = 0; size == UINT32_MAX && one < walk->large.used; one += 2) {
        if (AT(walk->large, uint64_t, one) == at) {
            return AT(walk->large, uint64_t, one + 1);
        }
    }
    return size;
}

static void count(Walk *walk, uint32_t group, size_t member) {
    Group *one = &AT(walk->groups.groups, Group, group);
    one->count++;
    one->bytes += bytes_of(walk, member);
    one->first = one->first == NOBODY ? (uint32_t)member : one->first;
}

int walk_group(Walk *walk) {
    for (; walk->grouped < walk->address.used; walk->grouped++) {
        size_t at = walk->grouped;
        uint32_t parent = AT(walk->parent, uint32_t, at), kind = AT(walk->type, uint32_t, at) & KIND_MASK;
        uint32_t *group = &AT(walk->group, uint32_t, at); /* a root has its own already */
        uint32_t above = parent == NOBODY ? *group : AT(walk->group, uint32_t, parent);
        if ((parent != NOBODY || above == UNROOTED_GROUP) &&
            groups_child(&walk->groups, &walk->kinds, above, kind, group) < 0) {
            return walk_fail(walk, "no memory for the walk's groups");
        }
        count(walk, *group, at);
    }
    return 0;
}

void groups_free(Groups *groups) {
    column_free(&groups->groups);
    column_free(&groups->keys);
    index_free(&groups->index);
}
