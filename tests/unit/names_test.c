/* Names of methods and types: what people read, what TraceEvent says, and what any text may do. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "symbol/names.h"

#define LIMIT ((size_t)64 << 20)

struct naming {
    const char *type;
    const char *method;
    const char *name;
};

static void assert_names(const struct naming *namings, size_t count)
{
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(LIMIT);
    for (size_t i = 0; i < count; i++) {
        sn_buf_clear(&buf);
        sn_buf_text(&buf, "kept:"); /* what was there before stays */
        sn_name_readable(&buf, namings[i].type, namings[i].method);
        assert_memory_equal(sn_buf_string(&buf), "kept:", 5);
        assert_string_equal(sn_buf_string(&buf) + 5, namings[i].name);
    }
}

#define ASSERT_NAMES(namings) assert_names(namings, sizeof(namings) / sizeof((namings)[0]))

static void plain_names_stay(void **state)
{
    (void)state;
    static const struct naming namings[] = {
        {"Shop.Orders", "Place", "Shop.Orders.Place"},
        {"Orders", "Place", "Orders.Place"},
        {"", "Place", "Place"},
        {"Orders", "", "Orders."},
        {"", "", ""},
        {"Shop.Orders", ".ctor", "Shop.Orders..ctor"},
        {"Shop.Orders", ".cctor", "Shop.Orders..cctor"},
        {"Shop.Orders", "get_Count", "Shop.Orders.get_Count"},
        {"Shop.Orders", "set_Item", "Shop.Orders.set_Item"},
        {"Shop.Orders", "op_Addition", "Shop.Orders.op_Addition"},
        {"Shop.Orders+Line", "Add", "Shop.Orders.Line.Add"},
        {"Shop.Orders+Line+Part", "Add", "Shop.Orders.Line.Part.Add"},
        {"Interop+Sys", "Read", "Interop.Sys.Read"},
        {"<PrivateImplementationDetails>", "ComputeStringHash",
         "<PrivateImplementationDetails>.ComputeStringHash"},
        {"Größe.Straße", "Öffne", "Größe.Straße.Öffne"},
        {"App.clo@12-1", "Invoke", "App.clo@12-1.Invoke"},
    };
    ASSERT_NAMES(namings);
}

static void state_machines_are_the_methods_they_run(void **state)
{
    (void)state;
    static const struct naming namings[] = {
        {"Shop.Orders+<PlaceAsync>d__3", "MoveNext", "Shop.Orders.PlaceAsync"},
        {"Orders+<All>d__12", "MoveNext", "Orders.All"},
        {"Shop.Orders+<Fetch>d__10`1[System.__Canon]", "MoveNext", "Shop.Orders.Fetch<__Canon>"},
        {"Shop.Cache`1+<Get>d__2[System.Int32]", "MoveNext", "Shop.Cache<Int32>.Get"},
        {"Shop.Cache`1+<Get>d__2`2[System.Int32,A.B,C.D]", "MoveNext",
         "Shop.Cache<Int32>.Get<B,D>"},
        {"Shop.Orders+<get_All>d__5", "MoveNext", "Shop.Orders.get_All"},
        {"Shop.Orders+<PlaceAsync>d__3", "SetStateMachine",
         "Shop.Orders.PlaceAsync.SetStateMachine"},
        {"Shop.Orders+<All>d__4", "<>m__Finally1", "Shop.Orders.All.{finally}"},
        {"Shop.Orders+<All>d__4", "System.IDisposable.Dispose",
         "Shop.Orders.All.IDisposable.Dispose"},
        {"Shop.Box`1+<System-Collections-IEnumerable-GetEnumerator>d__0[System.Int32]", "MoveNext",
         "Shop.Box<Int32>.IEnumerable.GetEnumerator"},
        {"B+<System-Collections-Generic-IEnumerable<System-Int32>-GetEnumerator>d__1", "MoveNext",
         "B.IEnumerable<Int32>.GetEnumerator"},
        {"Shop.Orders+<Stream>d__11",
         "System.Collections.Generic.IAsyncEnumerator<System.Int32>.MoveNextAsync",
         "Shop.Orders.Stream.IAsyncEnumerator<Int32>.MoveNextAsync"},
        {"Shop.Orders+VB$StateMachine_3_LoadAsync", "MoveNext", "Shop.Orders.LoadAsync"},
        {"Shop.Walker", "MoveNext", "Shop.Walker.MoveNext"},
        {"Shop.Walker+<Step>x__3", "MoveNext", "Shop.Walker.<Step>x__3.MoveNext"},
    };
    ASSERT_NAMES(namings);
}

static void lambdas_and_local_functions_are_named_after_their_method(void **state)
{
    (void)state;
    static const struct naming namings[] = {
        {"Shop.Program+<>c", "<Main>b__0_1", "Shop.Program.Main.{lambda}"},
        {"Shop.Program+<>c__DisplayClass4_0", "<Main>b__0", "Shop.Program.Main.{lambda}"},
        {"Shop.Program", "<Main>b__4_0", "Shop.Program.Main.{lambda}"},
        {"Shop.Program", "<Main>g__Add|0_1", "Shop.Program.Main.Add"},
        {"Shop.Program+<>c__DisplayClass12_0", "<Run>g__Local|3", "Shop.Program.Run.Local"},
        {"Shop.Program+<>c+<<Main>b__0_0>d", "MoveNext", "Shop.Program.Main.{lambda}"},
        {"Shop.Program+<<Main>g__Helper|0_0>d", "MoveNext", "Shop.Program.Main.Helper"},
        {"Shop.Program+<>c__DisplayClass3_0+<<Run>g__Local|1>d`1[A.B]", "MoveNext",
         "Shop.Program.Run.Local<B>"},
        {"Program", "<Main>$", "Program.Main"},
        {"Program+<<Main>$>d__0", "MoveNext", "Program.Main"},
        {"Program", "<<Main>$>g__Helper|0_0", "Program.Main.Helper"},
        {"Program+<>c", "<<Main>$>b__0_0", "Program.Main.{lambda}"},
        {"Program+<>c+<<<Main>$>b__0_0>d", "MoveNext", "Program.Main.{lambda}"},
        {"Program+<<<Main>$>g__Helper|0_0>d", "MoveNext", "Program.Main.Helper"},
        {"Shop.Orders+<>c", "<.ctor>b__2_0", "Shop.Orders..ctor.{lambda}"},
        {"Shop.Orders+<>c", "<.cctor>b__2_0", "Shop.Orders..cctor.{lambda}"},
        {"Shop.Orders+<>c", "<Shop.IPlaced.Place>b__2_0", "Shop.Orders.IPlaced.Place.{lambda}"},
        {"Shop.Cache`1+<>c__5`1[System.Int32,A.V]", "<Get>b__5_0",
         "Shop.Cache<Int32>.Get<V>.{lambda}"},
        {"Shop.Cache`1+<>c__DisplayClass5_0`1[System.Int32,A.V]", "<Get>b__0",
         "Shop.Cache<Int32>.Get<V>.{lambda}"},
        {"Shop.Cache`1+<>c__5`1+<<Get>b__5_0>d[System.Int32,A.V]", "MoveNext",
         "Shop.Cache<Int32>.Get<V>.{lambda}"},
        {"Shop.Orders+<>c", ".cctor", "Shop.Orders.{closure}..cctor"},
        {"Shop.Orders+<>c__DisplayClass5_0`1[A.V]", ".ctor", "Shop.Orders.{closure}<V>..ctor"},
        {"<>c", ".ctor", "{closure}..ctor"},
        {"Shop.Orders+_Closure$__1-0", "_Lambda$__0", "Shop.Orders.{lambda}"},
        {"Shop.Record", "<Clone>$", "Shop.Record.Clone"},
    };
    ASSERT_NAMES(namings);
}

static void generics_look_as_people_write_them(void **state)
{
    (void)state;
    static const struct naming namings[] = {
        {"System.Collections.Generic.List`1[System.__Canon]", "Add",
         "System.Collections.Generic.List<__Canon>.Add"},
        {"D.Dictionary`2[System.Int32,System.__Canon]", "FindValue",
         "D.Dictionary<Int32,__Canon>.FindValue"},
        {"D.Dictionary`2+Entry[System.Int32,System.__Canon]", "X",
         "D.Dictionary<Int32,__Canon>.Entry.X"},
        {"T.Box`1+Inner`1[K.Pair`2[System.Int32,System.__Canon],System.__Canon]", "Open",
         "T.Box<Pair<Int32,__Canon>>.Inner<__Canon>.Open"},
        {"L`1[L`1[L`1[System.Int32[]]]]", "Add", "L<L<L<Int32[]>>>.Add"},
        {"L`1[System.Int32[,,]]", "Add", "L<Int32[,,]>.Add"},
        {"L`1[System.Byte*]", "Add", "L<Byte*>.Add"},
        {"L`1[A.B+C]", "Add", "L<B.C>.Add"},
        {"L`1[A.Box`1+Inner`1[A.X,A.Y]]", "Add", "L<Box.Inner<X,Y>>.Add"},
        {"Task`1[<>f__AnonymousType0`2[A.X,A.Y]]", "Run", "Task<{anonymous}<X,Y>>.Run"},
        {"<>f__AnonymousType0`2[System.Int32,System.__Canon]", "GetHashCode",
         "{anonymous}<Int32,__Canon>.GetHashCode"},
        {"M`1+StateBox`1[System.VoidResult,Shop.Orders+<PlaceAsync>d__9]", "MoveNext",
         "M<VoidResult>.StateBox<Orders.PlaceAsync>.MoveNext"},
        {"M`1[Shop.P+<>c+<<Main>b__9_0>d]", "MoveNext", "M<P.Main.{lambda}>.MoveNext"},
        {"M`1[Shop.P+<<Main>g__Local|9_1>d]", "MoveNext", "M<P.Main.Local>.MoveNext"},
        {"L`1[[System.Int32, System.Private.CoreLib, Version=8.0.0.0]]", "Add", "L<Int32>.Add"},
        {"D`2[[A.X, a],[L`1[[A.Y, b]], c]]", "Add", "D<X,L<Y>>.Add"},
        {"L`1", "Add", "L.Add"},
        {"Func`17", "Invoke", "Func.Invoke"},
        {"A`10+B`1[C.A,C.B,C.C,C.D,C.E,C.F,C.G,C.H,C.I,C.J,C.K]", "Add",
         "A<A,B,C,D,E,F,G,H,I,J>.B<K>.Add"},
        {"L[System.Int32]", "Add", "L<Int32>.Add"},
        {"<Orders>F3A0__Cache", "Get", "Cache.Get"},
        {"Shop.<Orders>F3A0__Cache`1[System.Int32]", "Get", "Shop.Cache<Int32>.Get"},
        {"dynamicClass", "lambda_method1", "{dynamic}.lambda_method1"},
        {"dynamicClass", "IL_STUB_PInvoke", "{dynamic}.IL_STUB_PInvoke"},
        {"Shop.Shape", "Shop.Shapes.IMeasured.Measure", "Shop.Shape.IMeasured.Measure"},
        {"Shop.Shape", "System.Collections.Generic.IDictionary<A.K,B.V>.get_Item",
         "Shop.Shape.IDictionary<K,V>.get_Item"},
    };
    ASSERT_NAMES(namings);
}

static void what_does_not_parse_stays(void **state)
{
    (void)state;
    static const struct naming namings[] = {
        {"A[", "m", "A[.m"},
        {"A]", "m", "A].m"},
        {"A`1[B", "m", "A`1[B.m"},
        {"A`1[B]]", "m", "A<B>].m"},
        {"A`1[B[]", "m", "A`1[B[].m"},
        {"A`1[<B]", "m", "A`1[<B].m"},
        {"A+<B", "m", "A+<B.m"},
        {"A+B>", "m", "A+B>.m"},
        {"A+<B>d__1", "<C", "A.B.<C"},
        {"A", "<C>g__X", "A.<C>g__X"},
        {"A,B", "m", "A,B.m"},
        {"A\x1b[31m", "m\n", "A\x1b[31m.m\n"},
        {"A+<>d__3", "MoveNext", "A.<>d__3.MoveNext"},
    };
    ASSERT_NAMES(namings);
}

static char *repeat(const char *text, size_t count)
{
    size_t size = strlen(text);
    char *whole = malloc(size * count + 1);
    assert_non_null(whole);
    for (size_t i = 0; i < count; i++)
        memcpy(whole + i * size, text, size);
    whole[size * count] = '\0';
    return whole;
}

/* Were the time not linear, these would not end. */
static void megabytes_of_anything_end(void **state)
{
    (void)state;
    static const char *const units[] = {
        "<",  ">", "[",  "]",   ",",   "+",    "`1",  "L`1[", "<a>",   "[,", "\\",    "<<>d",
        "a.", "-", "[[", "],[", "<>c", "<>c+", "|_>", "`9[",  "+<a>d", "*&", "<.>b__"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        SN_AUTO(sn_free) char *text = repeat(units[i], ((size_t)2 << 20) / strlen(units[i]));
        SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(LIMIT);
        sn_name_readable(&buf, text, text);
        sn_name_readable(&buf, "A`1[B]", text);
        sn_name_type(&buf, text);
        sn_name_full(&buf, text, text, text);
        sn_name_space(&buf, text);
        assert_false(buf.failed);
        (void)sn_name_is_async(text, "MoveNext", "void ()");
        (void)sn_name_is_waiting(text, text);
    }
}

static void a_name_cut_anywhere_is_still_a_name(void **state)
{
    (void)state;
    static const char type[] =
        "Shop.Cache`1+<>c__5`1+<<Get>g__In|5_0>d[K.Pair`2[[A.X, a],[B.Y[], b]],A.V+<Z>d__1][]&";
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(LIMIT);
    for (size_t size = 0; size < sizeof(type); size++) {
        SN_AUTO(sn_free) char *cut = strndup(type, size);
        sn_buf_clear(&buf);
        sn_name_readable(&buf, cut, "MoveNext");
        sn_name_type(&buf, cut);
        sn_name_readable(&buf, "A", cut);
        assert_false(buf.failed);
    }
}

static void a_full_buffer_is_told_and_nothing_else(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < strlen("Shop.Cache<K>.Get<I<B.V>>.I<D>.MoveNext"); limit++) {
        SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(limit);
        sn_name_readable(&buf, "Shop.Cache`1+<Get>d__2`1[A.K,I<B.V>]", "A.I<C.D>.MoveNext");
        assert_true(buf.failed);
    }
}

static void types_lose_their_ticks(void **state)
{
    (void)state;
    static const char *const types[][2] = {
        {"System.String", "System.String"},
        {"System.Int32[]", "System.Int32[]"},
        {"System.Int32[,]&", "System.Int32[,]&"},
        {"System.Collections.Generic.List`1[System.Int32]",
         "System.Collections.Generic.List<Int32>"},
        {"D.Dictionary`2+Entry[System.Int32,System.__Canon][]",
         "D.Dictionary<Int32,__Canon>.Entry[]"},
        {"Shop.Orders+<PlaceAsync>d__3", "Shop.Orders.PlaceAsync"},
        {"Shop.Orders+<>c__DisplayClass3_0", "Shop.Orders.{closure}"},
        {"System.Func`1[[System.Int32, System.Private.CoreLib]]", "System.Func<Int32>"},
        {"", ""},
        {"A[", "A["},
    };
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(LIMIT);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        sn_buf_clear(&buf);
        sn_name_type(&buf, types[i][0]);
        assert_string_equal(sn_buf_string(&buf), types[i][1]);
    }
}

static void full_names_are_those_of_traceevent(void **state)
{
    (void)state;
    static const char *const names[][4] = {
        {"System.Threading.WaitHandle", "WaitOne", "instance bool  (int32)",
         "System.Threading.WaitHandle.WaitOne(int32)"},
        {"T.A`1[System.__Canon]", "F", "!!0  (class C`1<!!0>[],value class D&)",
         "T.A`1[System.__Canon].F(class C`1<!!0>[],value class D&)"},
        {"dynamicClass", "lambda_method1", "int32  (pMT: 0x7fb3973ed900,int32)",
         "dynamicClass.lambda_method1(pMT: 0x7fb3973ed900,int32)"},
        {"A", "m", "", "A.m"},
        {"", "m", "void ()", ".m()"},
        {"A", "m", "method void *(int32) ()", "A.m(int32) ()"},
    };
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(LIMIT);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sn_buf_clear(&buf);
        sn_name_full(&buf, names[i][0], names[i][1], names[i][2]);
        assert_string_equal(sn_buf_string(&buf), names[i][3]);
    }
}

static void namespaces_end_before_the_type(void **state)
{
    (void)state;
    static const char *const types[][2] = {
        {"Shop.Orders+<X>d__3", "Shop"},
        {"Shop.Data.Orders", "Shop.Data"},
        {"Orders", ""},
        {"", ""},
        {"A.List`1[System.Int32]", "A"},
        {"List`1[System.Int32]", ""},
        {"<>f__AnonymousType0`1[A.B]", ""},
        {"A.<File>F0__B", "A"},
        {"Interop+Sys", ""},
    };
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(LIMIT);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        sn_buf_clear(&buf);
        sn_name_space(&buf, types[i][0]);
        assert_string_equal(sn_buf_string(&buf), types[i][1]);
    }
}

static void async_bodies_return_nothing(void **state)
{
    (void)state;
    assert_true(sn_name_is_async("A.B+<C>d__1", "MoveNext", "instance void  ()"));
    assert_true(sn_name_is_async("A.B+<C>d__1`1[X.Y]", "MoveNext", "instance void  ()"));
    assert_true(sn_name_is_async("A.B+<>c+<<C>b__0_0>d", "MoveNext", "instance void  ()"));
    assert_true(sn_name_is_async("B+VB$StateMachine_1_C", "MoveNext", "instance void  ()"));
    assert_false(sn_name_is_async("A.B+<C>d__1", "MoveNext", "instance bool  ()"));
    assert_false(sn_name_is_async("A.B+<C>d__1", "SetStateMachine", "instance void  (class S)"));
    assert_false(sn_name_is_async("A.B", "MoveNext", "instance void  ()"));
    assert_false(sn_name_is_async("A.M`1[A.B+<C>d__1]", "MoveNext", "instance void  ()"));
    assert_false(sn_name_is_async("A.B+<C>d__1[", "MoveNext", "instance void  ()"));
}

static void the_framework_is_what_the_reader_did_not_write(void **state)
{
    (void)state;
    assert_true(sn_name_is_framework("System.Private.CoreLib", "System"));
    assert_true(sn_name_is_framework("System.Private.CoreLib", ""));
    assert_true(sn_name_is_framework("Microsoft.AspNetCore.Http", "Microsoft.AspNetCore"));
    assert_true(sn_name_is_framework("", "System.Threading"));
    assert_true(sn_name_is_framework("mscorlib", ""));
    assert_false(sn_name_is_framework("Shop", "Shop"));
    assert_false(sn_name_is_framework("", ""));
    assert_false(sn_name_is_framework("Systematic", "Systematic.Trade"));
    assert_false(sn_name_is_framework("MicrosoftShop", "MicrosoftShop"));
}

static void waiting_leaves_are_known(void **state)
{
    (void)state;
    static const char *const leaves[][2] = {
        {"System.Threading.Thread", "Sleep"},
        {"System.Threading.Thread", "Join"},
        {"System.Threading.Monitor", "Wait"},
        {"System.Threading.Monitor", "Enter_Slowpath"},
        {"System.Threading.WaitHandle", "WaitOneNoCheck"},
        {"System.Threading.WaitHandle", "WaitMultiple"},
        {"System.Threading.WaitHandle", "SignalAndWaitCore"},
        {"System.Threading.WaitSubsystem+ThreadWaitInfo", "Wait"},
        {"System.Threading.LowLevelLifoSemaphore", "WaitNative"},
        {"Interop+Sys", "ReceiveMessage"},
        {"Interop+Sys", "Poll"},
        {"System.Net.Sockets.SocketAsyncEngine", "EventLoop"},
    };
    for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
        assert_true(sn_name_is_waiting(leaves[i][0], leaves[i][1]));
    assert_false(sn_name_is_waiting("System.Threading.Thread", "StartCallback"));
    assert_false(sn_name_is_waiting("System.Threading.Thread", "Slee"));
    assert_false(sn_name_is_waiting("System.Threading.Thread", "Sleep "));
    assert_false(sn_name_is_waiting("System.Threading.Thread", ""));
    assert_false(sn_name_is_waiting("System.Threading.Threads", "Sleep"));
    assert_false(sn_name_is_waiting("Interop+Sys", "Write"));
    assert_false(sn_name_is_waiting("Shop.Orders", "Wait"));
    assert_false(sn_name_is_waiting("System.Threading.LowLevelSpinWaiter", "Wait"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names_stay),
        cmocka_unit_test(state_machines_are_the_methods_they_run),
        cmocka_unit_test(lambdas_and_local_functions_are_named_after_their_method),
        cmocka_unit_test(generics_look_as_people_write_them),
        cmocka_unit_test(what_does_not_parse_stays),
        cmocka_unit_test(megabytes_of_anything_end),
        cmocka_unit_test(a_name_cut_anywhere_is_still_a_name),
        cmocka_unit_test(a_full_buffer_is_told_and_nothing_else),
        cmocka_unit_test(types_lose_their_ticks),
        cmocka_unit_test(full_names_are_those_of_traceevent),
        cmocka_unit_test(namespaces_end_before_the_type),
        cmocka_unit_test(async_bodies_return_nothing),
        cmocka_unit_test(the_framework_is_what_the_reader_did_not_write),
        cmocka_unit_test(waiting_leaves_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
