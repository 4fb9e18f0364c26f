/* What the live view lists: groups, order, folding, filter. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/counters_rows.h"
#include "cli/counters_shot.h"
#include "made_points.h"

static struct sonde_point points[8];
static struct sn_shot_process processes[2] = {
    {.pid = 10, .name = "shop", .runtime = "", .container = "", .note = "", .summary = ""},
    {.pid = 2, .name = "bank", .runtime = "", .container = "", .note = "", .summary = "CPU 1 %"},
};
static struct sn_counters_shot shot = {.points = points, .processes = processes};
static struct sn_counters_choice choice;
static struct sn_counters_rows rows;

static void add(uint32_t pid, const char *provider, const char *name, const char *tags,
                double value)
{
    struct sonde_point *point = &points[shot.point_count++];
    *point = made_point(name, value);
    point->pid = pid;
    point->provider = provider;
    point->tag_text = tags;
}

static int set_up(void **state)
{
    (void)state;
    shot.point_count = 0;
    shot.process_count = 2;
    choice = (struct sn_counters_choice){.is_wide = true};
    add(10, "Shop", "requests", "route=b", 1);
    add(10, "Shop", "requests", "route=a", 9);
    add(10, "Shop", "depth", "", 5);
    add(10, "process", "cpu", "", 1);
    points[3].origin = SONDE_POINT_KERNEL;
    add(2, "Bank", "accounts", "", 3);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sn_counters_rows_done(&rows);
    sn_table_done(&choice.flipped);
    sn_table_done(&choice.flipped_found);
    return 0;
}

/* The rows as text: one letter for the kind, then what tells them apart. */
static void expect(const char *wanted)
{
    struct sonde_error err = {0};
    struct sn_buf text = sn_buf_with_limit(4096);
    assert_int_equal(sn_counters_rows_make(&rows, &shot, &choice, &err), SONDE_OK);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sn_counters_row *row = &rows.items[i];
        switch (row->kind) {
        case SN_ROW_PROCESS: sn_buf_format(&text, "P:%s", row->process->name); break;
        case SN_ROW_PROVIDER: sn_buf_format(&text, "G:%s", row->point->provider); break;
        case SN_ROW_NAME: sn_buf_format(&text, "N:%s", row->point->name); break;
        case SN_ROW_SERIES:
            sn_buf_format(&text, "S:%s",
                          row->is_below_name ? row->point->tag_text : row->point->name);
            break;
        case SN_ROW_DETAIL: sn_buf_text(&text, row->point ? "D" : "D:process"); break;
        }
        sn_buf_text(&text, row->is_folded ? "+ " : " ");
    }
    assert_string_equal(sn_buf_string(&text), wanted);
    sn_buf_done(&text);
}

static void groups_stand_below_their_process(void **state)
{
    (void)state;
    expect("P:shop G:process+ G:Shop S:depth N:requests S:route=a S:route=b "
           "P:bank G:Bank S:accounts ");
    choice.is_wide = false;
    expect("P:shop G:process+ G:Shop S:depth N:requests S:route=a S:route=b "
           "P:bank D:process G:Bank S:accounts ");
}

static void groups_fold_and_unfold(void **state)
{
    (void)state;
    expect("P:shop G:process+ G:Shop S:depth N:requests S:route=a S:route=b "
           "P:bank G:Bank S:accounts ");
    sn_counters_flip(&choice, &rows.items[1]); /* the kernel's begin folded */
    sn_counters_flip(&choice, &rows.items[2]);
    expect("P:shop G:process S:cpu G:Shop+ P:bank G:Bank S:accounts ");
    sn_counters_flip(&choice, &rows.items[0]);
    expect("P:shop+ P:bank G:Bank S:accounts ");
    sn_counters_flip(&choice, &rows.items[3]); /* a series has nothing to fold */
    sn_counters_flip(&choice, &rows.items[0]);
    expect("P:shop G:process S:cpu G:Shop+ P:bank G:Bank S:accounts ");
    choice.folds_processes = true;
    expect("P:shop+ P:bank+ ");
    sn_counters_flip(&choice, &rows.items[1]);
    expect("P:shop+ P:bank G:Bank S:accounts ");
}

static void sorted_by_value_names_and_tags_stand_together(void **state)
{
    (void)state;
    choice.sorting = SN_BY_VALUE;
    expect("P:shop G:process+ G:Shop S:requests S:depth S:requests P:bank G:Bank S:accounts ");
    assert_string_equal(rows.items[3].point->tag_text, "route=a");
    points[2].rate = 7;
    choice.sorting = SN_BY_RATE;
    expect("P:shop G:process+ G:Shop S:depth S:requests S:requests P:bank G:Bank S:accounts ");
}

static void a_filter_finds_names_providers_and_tags(void **state)
{
    (void)state;
    (void)snprintf(choice.filter, sizeof(choice.filter), "ROUTE=A");
    expect("P:shop G:Shop N:requests S:route=a ");
    (void)snprintf(choice.filter, sizeof(choice.filter), "bank");
    expect("P:bank G:Bank S:accounts ");
    sn_counters_flip(&choice, &rows.items[1]);
    expect("P:bank G:Bank+ ");
    sn_table_clear(&choice.flipped_found);
    (void)snprintf(choice.filter, sizeof(choice.filter), "cpu"); /* folded, but found */
    expect("P:shop G:process S:cpu ");
    (void)snprintf(choice.filter, sizeof(choice.filter), "nobody");
    expect("");
}

static void one_process_can_be_chosen(void **state)
{
    (void)state;
    choice.pid = 2;
    expect("P:bank G:Bank S:accounts ");
    choice.pid = 77;
    expect("");
}

static void histograms_have_a_row_more_where_it_is_narrow(void **state)
{
    (void)state;
    points[2].kind = SONDE_POINT_HISTOGRAM;
    choice.is_wide = false;
    choice.pid = 10;
    expect("P:shop G:process+ G:Shop S:depth D N:requests S:route=a S:route=b ");
    uint64_t key = rows.items[4].key;
    points[2].value = 77;
    expect("P:shop G:process+ G:Shop S:depth D N:requests S:route=a S:route=b ");
    assert_true(rows.items[4].key == key && rows.items[3].key != key);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_stand_below_their_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_fold_and_unfold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sorted_by_value_names_and_tags_stand_together, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_filter_finds_names_providers_and_tags, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_process_can_be_chosen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(histograms_have_a_row_more_where_it_is_narrow, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
