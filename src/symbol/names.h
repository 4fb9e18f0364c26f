/* What a method is called: the compiler's inventions turned back into what somebody wrote. No
 * state. Names come from outside and may hold anything; what does not parse stays as it is.
 *
 *   Shop.Orders+<PlaceAsync>d__3        MoveNext          Shop.Orders.PlaceAsync
 *   Shop.Program+<>c__DisplayClass4_0   <Main>b__0        Shop.Program.Main.{lambda}
 *   Shop.Program                        <Main>g__Add|0_1  Shop.Program.Main.Add
 *   Shop.Cache`1+<Get>d__2`1[A.K,B.V]   MoveNext          Shop.Cache<K>.Get<V>
 *   A.List`1[System.__Canon]            Add               A.List<__Canon>.Add
 *   dynamicClass                        lambda_method1    {dynamic}.lambda_method1
 */
#ifndef SN_NAMES_H
#define SN_NAMES_H

#include <stdbool.h>

struct sn_buf;
struct sn_method;

/* Appends the readable name. */
void sn_name_readable(struct sn_buf *to, const char *type, const char *method);

/* Appends what TraceEvent calls it (FullMethodName): type, a dot, method, and of the signature what
 * begins with its first bracket. dotnet-trace writes it into its Speedscope and Chromium files
 * behind "Module!", the file name of the module without its extension, and "?!?" for an address
 * without a name; the leaf below it is CPU_TIME or, when the thread was in native code,
 * UNMANAGED_CODE_TIME. */
void sn_name_full(struct sn_buf *to, const char *type, const char *method, const char *signature);

/* Appends the namespace of a type: "Shop" of "Shop.Orders+<X>d__3"; nothing for none. */
void sn_name_space(struct sn_buf *to, const char *type);

/* A readable name of a type as events have it: `System.Collections.Generic.List`1[System.Int32]`.
 */
void sn_name_type(struct sn_buf *to, const char *type);

/* The body of an async method (not of an iterator, whose MoveNext returns a bool). */
bool sn_name_is_async(const char *type, const char *method, const char *signature);

/* The reader did not write it: System.*, Microsoft.*, and the runtime's own module. */
bool sn_name_is_framework(const char *module, const char *name_space);

/* A leaf that waits for something else than the CPU: Thread.Sleep, Monitor.Wait, WaitHandle.*,
 * epoll and the like. `type` and `method` as events have them. */
bool sn_name_is_waiting(const char *type, const char *method);

/* Of these, those that also work in the kernel when there is something to read or write. */
bool sn_name_is_moving_data(const char *type, const char *method);

/* Where the runtime (10) holds a thread that code has asked to stop: what polls for it, not what
 * the program does. */
bool sn_name_is_stop(const char *type, const char *method);

#endif
