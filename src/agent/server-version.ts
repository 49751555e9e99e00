// The API server's version, read only when a component must be compatible with it.
import https from 'node:https'
import { servedVersion } from '#api/served-version.ts'
import { isTokenPair, type Credential } from './join/identity.ts'

export interface ServerPlace {
  readonly server: string
  readonly ca: string
  readonly pair: () => Credential
  /** Proxy variables. */
  readonly proxy?: Readonly<Record<string, string>> | undefined
}

const TIMEOUT_MS = 5_000
const MAX_CHARS = 16_384

/** Undefined when it cannot be read; never rejects. */
export const readServerVersion = ({ server, ca, pair, proxy }: ServerPlace): Promise<string | undefined> =>
  new Promise((resolve) => {
    const own = pair()
    const identity = isTokenPair(own)
      ? { headers: { authorization: `Bearer ${own.token}` } }
      : { key: own.key, cert: own.certificate }
    const url = new URL('/version', server)
    const agent = proxy === undefined ? false : new https.Agent({ proxyEnv: proxy })
    const request = https.get(url, { ca, ...identity, agent, timeout: TIMEOUT_MS }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        text += part
        if (text.length > MAX_CHARS) response.destroy()
      })
      response.on('close', () => resolve(response.statusCode === 200 ? versionIn(text) : undefined))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(undefined))
  })

function versionIn(text: string): string | undefined {
  try {
    return servedVersion(JSON.parse(text))
  } catch {
    return undefined
  }
}
