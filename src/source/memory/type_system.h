/* The runtime's types, from its MethodTables: which type it is, its generic arguments, sizes,
 * fields; and the modules they come from with their metadata, read from the target's memory.
 * Borrows the runtime; answers are kept. One thread. */
#ifndef SN_TYPE_SYSTEM_H
#define SN_TYPE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_assembly;
struct sn_buf;
struct sn_runtime_memory;
struct sn_type_system;
struct sonde_error;

int sn_type_system_new(struct sn_runtime_memory *runtime, struct sn_type_system **ret_types,
                       struct sonde_error *err);
void sn_type_system_free(struct sn_type_system *types);

/* Forgets what was read, and frees it: whatever was given out is gone. For who keeps it long: what
 * a program unloads makes room for something else at the same address. */
void sn_type_system_forget(struct sn_type_system *types);

/* --- modules --- */

struct sn_memory_module {
    uint64_t address;
    const char *path; /* as the target sees it; a bare name in a single-file program; "" for a
                         dynamic one */
    const char *name; /* "shop.dll"; "" */
    const struct sn_assembly *metadata; /* format/assembly.h; NULL: cannot be read, or what is there
                                           is not what the runtime loaded */
    uint8_t version_id[16];
    uint8_t pdb_guid[16]; /* of its portable PDB; zeros when not told */
    uint64_t image;       /* where the image is loaded, or 0 */
    bool is_dynamic;
};
/* NULL: it is none. Borrowed, stays. */
const struct sn_memory_module *sn_type_system_module(struct sn_type_system *types, uint64_t module);

/* Calls `take` for every loaded module until it returns false. */
typedef bool sn_memory_module_fn(void *user, const struct sn_memory_module *module);
void sn_type_system_modules(struct sn_type_system *types, sn_memory_module_fn *take, void *user);

/* --- types --- */

struct sn_memory_type {
    uint64_t address;                      /* of the MethodTable */
    const struct sn_memory_module *module; /* or NULL */
    uint32_t token;                        /* TypeDef in it; 0 for arrays */
    uint32_t base_size;                    /* of an object, with its header */
    uint32_t component_size;               /* of an element; 0: neither array nor string */
    bool is_array;
    bool is_string;
    bool is_value_type;
    bool is_delegate;
    uint64_t
        canonical;    /* MethodTable whose code and layout it shares; itself when it shares none */
    uint64_t parent;  /* MethodTable, or 0 */
    uint64_t element; /* of an array: TypeHandle */
    const char *name; /* as the runtime's events of methods have it:
                         "System.Collections.Generic.List`1[System.Int32]"; never NULL, "" unknown.
                         Its allocation events leave out the types that it is nested in. */
};
/* By MethodTable; NULL: it is none (checked: its EEClass points back). Borrowed, stays. */
const struct sn_memory_type *sn_type_system_type(struct sn_type_system *types,
                                                 uint64_t method_table);

/* The generic arguments of a type: TypeHandles, how many; 0: it has none, or more than `room`. */
size_t sn_type_system_arguments(struct sn_type_system *types, uint64_t method_table, uint64_t *to,
                                size_t room);

/* Appends the name of a TypeHandle (a MethodTable, or a TypeDesc with bit 1 set), as the runtime's
 * events spell it. */
bool sn_type_system_handle_name(struct sn_type_system *types, uint64_t handle, struct sn_buf *to);

/* Where a field lies in its objects, behind the pointer to the MethodTable (so 0 is the first byte
 * after it), by the field's name as metadata have it; looks at the parents too. False: there is
 * none, or what was read of it could not be proved by metadata. */
struct sn_memory_field {
    uint32_t offset;
    uint8_t element; /* CorElementType as it lies there: 0x02 bool, 0x08 i4 (an enum too), 0x0a i8,
                        0x0e string, 0x12 any other reference, 0x11 value type, ... */
    uint32_t token;
    bool is_static;
    uint64_t owner; /* MethodTable of the type that has it: the one asked for, or a parent */
};
bool sn_type_system_field(struct sn_type_system *types, uint64_t method_table, const char *name,
                          struct sn_memory_field *ret_field);

/* The MethodTable of a loaded type that is no generic instantiation, by the name that metadata have
 * ("System.Threading.ThreadPool") and the file name of its module (NULL: the core library). 0: it
 * is not loaded. */
uint64_t sn_type_system_find(struct sn_type_system *types, const char *module_name,
                             const char *full_name);

/* The MethodTable of a TypeDef token of a module; 0: it is not loaded. Of a generic type the one
 * with its own variables, which no object has. */
uint64_t sn_type_system_typedef(struct sn_type_system *types, const struct sn_memory_module *module,
                                uint32_t token);

/* --- objects --- */

/* MethodTable of an object, without the garbage collector's marks; 0: it is none. */
uint64_t sn_type_system_object_table(struct sn_type_system *types, uint64_t object);

/* Name of an object's type; "": it is none, or not known. Borrowed, stays. */
const char *sn_type_system_object_type(struct sn_type_system *types, uint64_t object);

/* The text of a System.String as UTF-8, cut to `size` - 1 bytes; false: it is none. Always ends
 * `to`. */
bool sn_type_system_read_string(struct sn_type_system *types, uint64_t object, char *to,
                                size_t size);

/* --- methods --- */

struct sn_memory_method {
    const struct sn_memory_module *module; /* NULL: dynamic */
    uint32_t token;                        /* 0: dynamic */
    bool is_dynamic;
    uint64_t type;         /* MethodTable */
    const char *type_name; /* as the runtime's events have them: "Shop.Orders+<PlaceAsync>d__3";
                              "dynamicClass" */
    const char *name;      /* "MoveNext" */
    const char *signature; /* "instance void  (int32,class System.String)" */
    const char *arguments; /* of a generic method: "[System.Int32,System.__Canon]"; "" */
    bool is_stub; /* generated by the runtime: marshalling, delegates; no code of the program */
};
/* By MethodDesc; NULL: it is none. Borrowed, stays. A dynamic method is read anew each time, as its
 * MethodDesc is used again. */
const struct sn_memory_method *sn_type_system_method(struct sn_type_system *types,
                                                     uint64_t method_desc);

#endif
