// Percent encoding as both vendors sign it: everything except RFC 3986's unreserved characters.

export const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
