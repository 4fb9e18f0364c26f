// Says what it was started with, so that a test can set it: startup [args]
namespace Targets;

internal static class Startup
{
    public static void Start(Stage stage)
    {
        Stage.Say($"SONDE_TEST={Environment.GetEnvironmentVariable("SONDE_TEST")}");
        Stage.Say($"args={string.Join(' ', stage.Args)}");
        Stage.Say($"runtime={Environment.Version}");
    }
}
