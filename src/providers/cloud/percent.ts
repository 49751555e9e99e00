// Percent encoding as both vendors sign it: everything but the unreserved characters of RFC 3986.

export const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
