// Whether a repository URL is a folder on this machine, which is read in place. Pure.

export const isLocal = (url: string): boolean => url.startsWith('file:') || !/^[a-z][a-z0-9+.-]*(:\/\/|::)/i.test(url)
