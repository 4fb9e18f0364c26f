/* Profiles as walks: what opens and closes where, by time and by value. */
#include "check.h"

#include "base/buf.h"
#include "convert/spans.h"
#include "model/profile.h"
#include "sonde/error.h"

static const struct sn_column columns[] = {{"cpu", SN_UNIT_NS}, {"wall", SN_UNIT_NS}};

struct made {
    struct sn_profile *profile;
    uint32_t threads[2];
    uint32_t a, b, c, aa; /* nodes a, a/b, a/c, a/a */
    struct sn_buf said;
};

static uint32_t frame_of(struct sn_profile *profile, const char *name)
{
    return sn_profile_frame(
        profile,
        &(struct sn_frame){.name = name, .full_name = name, .module = "", .name_space = ""});
}

static struct made made_of(void)
{
    struct made made = {.said = sn_buf_with_limit(4096)};
    assert_int_equal(sn_profile_new(columns, 2, &made.profile, NULL), SONDE_OK);
    uint32_t a = frame_of(made.profile, "a");
    made.a = sn_profile_node(made.profile, 0, a);
    made.b = sn_profile_node(made.profile, made.a, frame_of(made.profile, "b"));
    made.c = sn_profile_node(made.profile, made.a, frame_of(made.profile, "c"));
    made.aa = sn_profile_node(made.profile, made.a, a);
    made.threads[0] = sn_profile_thread(made.profile, 1, 10, "");
    made.threads[1] = sn_profile_thread(made.profile, 1, 11, "");
    made.profile->start_ns = 100;
    return made;
}

static void drop(struct made *made)
{
    sn_profile_free(made->profile);
    sn_buf_done(&made->said);
}

static void put(struct made *made, uint32_t thread, uint32_t node, uint64_t cpu, uint64_t wall)
{
    sn_profile_add(made->profile, made->threads[thread], node,
                   (uint64_t[SN_COLUMN_MAX]){cpu, wall});
}

static void put_run(struct made *made, uint64_t start, uint64_t end, uint32_t node, uint64_t cpu)
{
    struct sn_run run = {
        .start_ns = start, .end_ns = end, .node = node, .values = {cpu, end - start}};
    put(made, 0, node, cpu, end - start);
    sn_profile_run(made->profile, made->threads[0], &run);
}

static void say(struct made *made, const char *how, uint32_t frame, uint64_t at, uint64_t spent)
{
    sn_buf_format(&made->said, "%s%s@%llu/%llu ", how,
                  frame == SN_NO_INDEX ? "?" : made->profile->frames[frame].name,
                  (unsigned long long)at, (unsigned long long)spent);
}

static void say_open(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    say(user, "+", frame, at, spent);
}

static void say_close(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    say(user, "-", frame, at, spent);
}

static void check_walk(struct made *made, int column, bool by_time, uint32_t thread,
                       const char *wanted)
{
    static const struct sn_spans_ops ops = {.open = say_open, .close = say_close};
    struct sn_spans spans;
    bool is_merged = thread == SN_NO_INDEX;
    assert_true(sn_spans_init(&spans, made->profile, column, by_time, is_merged));
    for (int again = 0; again < 2; again++) { /* nothing stays behind from a walk */
        sn_buf_clear(&made->said);
        (void)sn_spans_walk(&spans, is_merged ? thread : made->threads[thread], &ops, made);
        assert_string_equal(sn_buf_string(&made->said), wanted);
    }
    sn_spans_done(&spans);
}

static void time_has_gaps_and_neighbours_are_one(void **state)
{
    (void)state;
    struct made made = made_of();
    put_run(&made, 100, 110, made.b, 4);
    put_run(&made, 110, 120, made.b, 0); /* no CPU: goes on in the wall view only */
    put_run(&made, 120, 130, made.c, 5);
    put_run(&made, 150, 160, made.c, 6);
    check_walk(&made, 1, true, 0,
               "+a@0/0 +b@0/0 -b@20/20 +c@20/20 -c@30/30 -a@30/30 +a@50/30 +c@50/30 -c@60/40 "
               "-a@60/40 ");
    check_walk(&made, 0, true, 0,
               "+a@0/0 +b@0/0 -b@10/4 -a@10/4 +a@20/4 +c@20/4 -c@30/9 -a@30/9 +a@50/9 +c@50/9 "
               "-c@60/15 -a@60/15 ");
    drop(&made);
}

static void by_value_the_end_is_the_sum(void **state)
{
    (void)state;
    struct made made = made_of();
    put_run(&made, 100, 110, made.b, 4);
    put_run(&made, 110, 120, made.c, 0);
    put_run(&made, 150, 160, made.b, 6);
    put(&made, 0, made.b, 3, 0); /* counted, and at no known time */
    put(&made, 0, made.aa, 2, 0);
    check_walk(&made, 0, false, 0, "+a@0/0 +b@0/0 -b@13/13 +a@13/13 -a@15/15 -a@15/15 ");
    drop(&made);
}

static void trees_are_walked_depth_first(void **state)
{
    (void)state;
    struct made made = made_of();
    put(&made, 1, made.c, 1, 0);
    put(&made, 0, made.b, 2, 0);
    put(&made, 1, made.b, 3, 0);
    put(&made, 0, made.c, 4, 0);
    put(&made, 0, made.a, 5, 0);
    check_walk(&made, 0, false, SN_NO_INDEX, "+a@0/0 +b@5/5 -b@10/10 +c@10/10 -c@15/15 -a@15/15 ");
    put(&made, 1, 0, 7, 0); /* nothing of its stack is known */
    check_walk(&made, 0, true, 1,
               "+?@0/0 -?@7/7 +a@7/7 +b@7/7 -b@10/10 +c@10/10 -c@11/11 -a@11/11 ");
    made.profile->rows[made.profile->row_count - 1].values[0] = 0;
    check_walk(&made, 0, true, 1, "+a@0/0 +b@0/0 -b@3/3 +c@3/3 -c@4/4 -a@4/4 ");
    drop(&made);
}

/* One that is in no node: opened once while the walk stays below, and not for a merged tree. */
static void each_thread_has_a_frame_of_its_own(void **state)
{
    (void)state;
    struct made made = made_of();
    made.profile->threads_node = made.a;
    made.profile->threads[made.threads[0]].frame = frame_of(made.profile, "one");
    made.profile->threads[made.threads[1]].frame = frame_of(made.profile, "two");
    put_run(&made, 100, 110, made.b, 1);
    put_run(&made, 110, 130, made.c, 2);
    put_run(&made, 140, 150, made.c, 3);
    put(&made, 1, made.c, 4, 0);
    check_walk(&made, 0, true, 0,
               "+a@0/0 +one@0/0 +b@0/0 -b@10/1 +c@10/1 -c@30/3 -one@30/3 -a@30/3 "
               "+a@40/3 +one@40/3 +c@40/3 -c@50/6 -one@50/6 -a@50/6 ");
    check_walk(&made, 0, false, 1, "+a@0/0 +two@0/0 +c@0/0 -c@4/4 -two@4/4 -a@4/4 ");
    check_walk(&made, 0, false, SN_NO_INDEX, "+a@0/0 +b@0/0 -b@1/1 +c@1/1 -c@10/10 -a@10/10 ");
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_has_gaps_and_neighbours_are_one),
        cmocka_unit_test(by_value_the_end_is_the_sum),
        cmocka_unit_test(trees_are_walked_depth_first),
        cmocka_unit_test(each_thread_has_a_frame_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
