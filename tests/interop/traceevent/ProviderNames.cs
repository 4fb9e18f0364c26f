// The names of a trace's providers as its metadata has them.
//
// An event record has only the provider's GUID, and TraceEvent names a provider only if one of its parsers
// knows it; so we look into the metadata that its reader collects.
using System.Collections;
using System.Reflection;
using Microsoft.Diagnostics.Tracing;

namespace Oracle;

internal sealed class ProviderNames(EventPipeEventSource source)
{
    private const BindingFlags Any = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

    private readonly Dictionary<Guid, string> names = [];

    public string Find(Guid provider)
    {
        if (!names.ContainsKey(provider))
            ReadMetadata(); // it has grown since, at least by this provider
        return names[provider];
    }

    private void ReadMetadata()
    {
        FieldInfo field = typeof(EventPipeEventSource).GetField("_eventMetadataDictionary", Any)!;
        foreach (object metadata in ((IDictionary)field.GetValue(source)!).Values)
        {
            Type type = metadata.GetType();
            var id = (Guid)type.GetProperty("ProviderId", Any)!.GetValue(metadata)!;
            names[id] = (string)type.GetProperty("ProviderName", Any)!.GetValue(metadata)!;
        }
    }
}
