// Whether the URL of a repository is a folder of this machine, which is read in place. Pure.

export const isLocal = (url: string): boolean => url.startsWith('file:') || !/^[a-z][a-z0-9+.-]*(:\/\/|::)/i.test(url)
