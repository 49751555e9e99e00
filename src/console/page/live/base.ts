// Where the page is served: at the root of its host, or below a path of a reverse proxy. Its modules are loaded from there.

export const BASE = /^(.*)\/a\/[0-9a-f]{16}\//.exec(new URL(import.meta.url).pathname)?.[1] ?? ''
