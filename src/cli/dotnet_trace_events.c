/* Names of the runtime's events as dotnet-trace takes them, "Task/Opcode", to the runtime's own. */
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "cli/dotnet_trace.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"

/* Those that are not simply task and opcode put together, as GC/Start is GCStart. */
static const struct {
    const char *theirs;
    const char *ours;
} names[] = {
    {"AllocationSampling", "AllocationSampled"},
    {"AppDomainResourceManagement/DomainEnter", "ThreadDomainEnter"},
    {"AppDomainResourceManagement/MemAllocated", "AppDomainMemAllocated"},
    {"AppDomainResourceManagement/MemSurvived", "AppDomainMemSurvived"},
    {"AppDomainResourceManagement/ThreadCreated", "ThreadCreated"},
    {"AppDomainResourceManagement/ThreadTerminated", "ThreadTerminated"},
    {"AssemblyLoader/AppDomainAssemblyResolveHandlerInvoked",
     "AppDomainAssemblyResolveHandlerInvoked"},
    {"AssemblyLoader/AssemblyLoadContextResolvingHandlerInvoked",
     "AssemblyLoadContextResolvingHandlerInvoked"},
    {"AssemblyLoader/AssemblyLoadFromResolveHandlerInvoked",
     "AssemblyLoadFromResolveHandlerInvoked"},
    {"AssemblyLoader/KnownPathProbed", "KnownPathProbed"},
    {"AssemblyLoader/ResolutionAttempted", "ResolutionAttempted"},
    {"AssemblyLoader/Start", "AssemblyLoadStart"},
    {"AssemblyLoader/Stop", "AssemblyLoadStop"},
    {"ClrStack/Walk", "CLRStackWalk"},
    {"CodeSymbols/Start", "CodeSymbols"},
    {"EventSourceEvent", "EventSource"},
    {"Exception/Start", "ExceptionThrown"},
    {"Exception/Stop", "ExceptionThrownStop"},
    {"ExecutionCheckpoint/ExecutionCheckpoint", "ExecutionCheckpoint"},
    {"GC/DestoryGCHandle", "DestroyGCHandle"},
    {"GC/FinalizeObject", "FinalizeObject"},
    {"GC/FinalizersStart", "GCFinalizersBegin"},
    {"GC/FinalizersStop", "GCFinalizersEnd"},
    {"GC/GenAwareBegin", "GenAwareBegin"},
    {"GC/GenAwareEnd", "GenAwareEnd"},
    {"GC/Mark", "GCMarkWithType"},
    {"GC/MarkCards", "GCMarkOlderGenerationRoots"},
    {"GC/PinObjectAtGCTime", "PinObjectAtGCTime"},
    {"GC/RestartEEStart", "GCRestartEEBegin"},
    {"GC/RestartEEStop", "GCRestartEEEnd"},
    {"GC/SampledObjectAllocation", "GCSampledObjectAllocationHigh"},
    {"GC/SetGCHandle", "SetGCHandle"},
    {"GC/Stop", "GCEnd"},
    {"GC/SuspendEEStart", "GCSuspendEEBegin"},
    {"GC/SuspendEEStop", "GCSuspendEEEnd"},
    {"ILStub/StubCacheHit", "ILStubCacheHit"},
    {"ILStub/StubGenerated", "ILStubGenerated"},
    {"IOThreadCreation/Start", "IOThreadCreate"},
    {"IOThreadCreation/Stop", "IOThreadTerminate"},
    {"IOThreadRetirement/Start", "IOThreadRetire"},
    {"IOThreadRetirement/Stop", "IOThreadUnretire"},
    {"JitInstrumentationData/InstrumentationData", "JitInstrumentationData"},
    {"JitInstrumentationDataVerbose/InstrumentationData", "JitInstrumentationDataVerbose"},
    {"Loader/AppDomainLoad", "AppDomainLoad"},
    {"Loader/AppDomainUnload", "AppDomainUnload"},
    {"Loader/AssemblyLoad", "AssemblyLoad"},
    {"Loader/AssemblyUnload", "AssemblyUnload"},
    {"Loader/DomainModuleLoad", "DomainModuleLoad"},
    {"Loader/ModuleDCStartV2", "ModuleDCStartV2"},
    {"Loader/ModuleDCStopV2", "ModuleDCEndV2"},
    {"Loader/ModuleLoad", "ModuleLoad"},
    {"Loader/ModuleUnload", "ModuleUnload"},
    {"Method/DCStartCompleteV2", "DCStartCompleteV2"},
    {"Method/DCStopCompleteV2", "DCEndCompleteV2"},
    {"Method/DCStopV2", "MethodDCEndV2"},
    {"Method/DCStopVerboseV2", "MethodDCEndVerboseV2"},
    {"Method/InliningFailed", "MethodJitInliningFailed"},
    {"Method/InliningFailedAnsi", "MethodJitInliningFailedAnsi"},
    {"Method/InliningSucceeded", "MethodJitInliningSucceeded"},
    {"Method/MemoryAllocatedForJitCode", "MethodJitMemoryAllocatedForCode"},
    {"Method/MethodDetails", "MethodDetails"},
    {"Method/R2RGetEntryPoint", "R2RGetEntryPoint"},
    {"Method/R2RGetEntryPointStart", "R2RGetEntryPointStart"},
    {"Method/TailCallFailed", "MethodJitTailCallFailed"},
    {"Method/TailCallFailedAnsi", "MethodJitTailCallFailedAnsi"},
    {"Method/TailCallSucceeded", "MethodJitTailCallSucceeded"},
    {"Runtime/Start", "RuntimeInformationStart"},
    {"ThreadPoolWorkingThreadCount/Start", "ThreadPoolWorkingThreadCount"},
    {"Type/BulkType", "BulkType"},
};

void sn_dotnet_event_name(struct sn_buf *to, const char *provider, const char *name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(provider, RUNTIME) == 0 && strcmp(names[i].theirs, name) == 0) {
            sn_buf_text(to, names[i].ours);
            return;
        }
    }
    size_t task = strcspn(name, "/");
    sn_buf_append(to, name, task);
    sn_buf_text(to, name + task + (name[task] == '/'));
}
