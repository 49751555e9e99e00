// The headers of every response: no external content, no framing, no sniffing. Pure.

/** `importMap`: the digest of the only inline script. */
export const pagePolicy = (importMap: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' '${importMap}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

export const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"

const YEAR_S = 365 * 86_400

export const securityHeaders = (isTls: boolean): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  ...(isTls && { 'strict-transport-security': `max-age=${YEAR_S}` }),
})
