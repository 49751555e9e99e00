// Explains why a git server's certificate is rejected: git only reports that it is. Runs after git rejected it; sends only a TLS handshake.
import { isIP, type LookupFunction } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { defined } from '#lib/defined.ts'
import { UNTRUSTED_CHAIN } from '#lib/untrusted-chain.ts'

const DEADLINE_MS = 5_000
const MAX_NAMES_CHARS = 200

/** Undefined if this system would accept the certificate, or the server does not answer in time. */
export async function certificateProblem(
  url: string,
  { authorities, lookup }: { readonly authorities: string | undefined; readonly lookup: LookupFunction },
): Promise<string | undefined> {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({
    host,
    port: port === '' ? 443 : Number(port),
    // Verified below, to find out why it fails; no data follows.
    rejectUnauthorized: false,
    lookup,
    ...(isIP(host) === 0 && { servername: host }),
    ...defined({ ca: authorities }),
  })
  try {
    const isReady = await new Promise<boolean>((resolve) => {
      socket.setTimeout(DEADLINE_MS, () => resolve(false))
      socket.once('secureConnect', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('close', () => resolve(false))
    })
    return isReady ? problemSeen(socket, host, authorities !== undefined) : undefined
  } finally {
    socket.destroy()
  }
}

function problemSeen(socket: TLSSocket, host: string, hasOwn: boolean): string | undefined {
  if (socket.authorized) return undefined
  const { valid_from: from, valid_to: to, subjectaltname: names } = socket.getPeerCertificate()
  // A code at run time, although the type is Error.
  const problem = String(socket.authorizationError)
  switch (problem) {
    case 'CERT_HAS_EXPIRED':
      return Date.parse(to) < Date.now() ? `it expired on ${day(to)}` : 'the authority that signed it has expired'
    case 'CERT_NOT_YET_VALID':
      return `it is valid from ${day(from)}`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `it is for ${shown(names ?? 'no name')}, not for ${host}`
    default:
      return UNTRUSTED_CHAIN.has(problem)
        ? `no authority ${hasOwn ? 'of ca.crt' : 'that this system trusts'} signed it`
        : problem
  }
}

const day = (time: string): string => new Date(time).toISOString().slice(0, 10)
const shown = (text: string): string => text.replaceAll(/[^ -~]/g, '?').slice(0, MAX_NAMES_CHARS)
