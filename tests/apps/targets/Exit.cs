// Ends by itself: exit [after=0] [code=0], or by force: exit throw | exit abort
namespace Targets;

internal static class Exit
{
    public static void Start(Stage stage)
    {
        int after = stage.Number("after", stage.Args.Length > 0 && int.TryParse(stage.Args[0], out int ms) ? ms : 0);

        stage.Spawn("exit", () =>
        {
            stage.AwaitReady();
            stage.Pause(after);
            if (stage.Args.Contains("throw"))
                throw new InvalidOperationException("asked to fail");
            if (stage.Args.Contains("abort"))
                Environment.FailFast("asked to abort");
            stage.Stop(stage.Number("code", 0));
        });
    }
}
