// Prints what the running .NET says of its own events, as class NativeRuntimeEventSource describes them:
// one line per event with id, version, name and fields (type:name), separated by tabs.
#:property PublishAot=false
using System.Diagnostics.Tracing;
using System.Reflection;

const BindingFlags Any =
    BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
Type source = typeof(object).Assembly.GetType("System.Diagnostics.Tracing.NativeRuntimeEventSource", true)!;

var lines =
    from method in source.GetMethods(Any)
    let attribute = method.GetCustomAttribute<EventAttribute>()
    where attribute != null
    let fields = method.GetParameters().Select(field => $"{TypeName(field.ParameterType)}:{field.Name}")
    orderby attribute.EventId, attribute.Version
    select string.Join('\t', [$"{attribute.EventId}", $"{attribute.Version}", method.Name, .. fields]);

foreach (string line in lines)
    Console.WriteLine(line);

static string TypeName(Type type) => type.IsEnum ? type.GetEnumUnderlyingType().Name : type.Name;
