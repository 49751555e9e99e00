// Where an agent finds its next token when the API server rejects the current one, for example after a day without power: the artifact servers hand it
// to any client, because only this host's key opens it.
import { AGENT_TOKENS_PATH } from '#api/names.ts'
import { HttpKubeClient, type HttpClientOptions } from '#kube/http/client.ts'
import { proxyEnv } from './host-proxy.ts'
import type { Identity, TokenPair } from './identity.ts'
import { openedToken } from './request.ts'

const PATIENCE_MS = 5_000
/** Many times a sealed token. A thief of an artifact server's key may send any amount. */
const MAX_ANSWER = 64 * 1024
const BOUNDS = { parsed: MAX_ANSWER, text: MAX_ANSWER, listed: MAX_ANSWER }

/** Undefined where there are no such servers. */
export function tokenServer(
  { artifactBase, artifactCa, proxy }: Pick<Identity, 'artifactBase' | 'artifactCa' | 'proxy'>,
  options: HttpClientOptions = {},
): HttpKubeClient | undefined {
  if (URL.parse(artifactBase)?.protocol !== 'https:') return undefined
  const connection = {
    server: artifactBase.replace(/\/$/, ''),
    ...(artifactCa !== undefined && { ca: { data: artifactCa } }),
    ...(proxy !== undefined && { proxy: proxyEnv(proxy) }),
  }
  return new HttpKubeClient(connection, { ...options, bounds: BOUNDS })
}

/** Undefined when there is no token for this key, or no server is reachable: the connection asks again later. */
export async function fetchSealedToken(
  servers: HttpKubeClient | undefined,
  { key, uid }: Pick<TokenPair, 'key' | 'uid'>,
  signal: AbortSignal,
): Promise<TokenPair | undefined> {
  try {
    const answer = await servers?.raw({
      method: 'GET',
      path: `${AGENT_TOKENS_PATH}${encodeURIComponent(uid)}`,
      timeoutMs: PATIENCE_MS,
      signal,
    })
    return answer?.status === 200 ? openedToken({ key, uid }, answer.text.trim()) : undefined
  } catch {
    return undefined
  }
}
