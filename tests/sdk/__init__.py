"""The clients of the providers' SDKs, managed: real SDKs, real HTTP, a scripted provider that is as strict as the real one."""
