// Whether a request was meant for this server. A page in a browser on this machine can make its own name resolve to a loopback address (DNS rebinding) and read
// what is served there; its requests still carry that name.

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/
/** The longest host name is shorter. */
const MAX_HOST = 300

/** The host of a Host header in lower case, without port and brackets. Undefined if missing or malformed. */
function hostOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length > MAX_HOST) return undefined
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header) ?? []
  return (bracketed ?? plain)?.toLowerCase()
}

/** `localAddress` is where the connection arrived: a request for that literal address involved no DNS. */
export function isOwnHost(
  header: string | undefined,
  localAddress: string | undefined,
  names: readonly string[] = [],
): boolean {
  const host = hostOf(header)
  if (host === undefined) return false
  const own = localAddress?.replace(/^::ffff:/, '').toLowerCase()
  return LOOPBACK.test(host) || host === own || names.some((n) => n.toLowerCase() === host)
}
