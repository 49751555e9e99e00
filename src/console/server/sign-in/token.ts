// Signs users in with a bearer token, which its API server identifies. The token is kept only in the session's memory.
import { introduced } from '#kube/current-person.ts'
import { unverifiedEnd } from '#lib/token-claims.ts'
import { Refused } from '../request.ts'
import { type ConnectAs, type OwnClient, OwnClients } from './own-clients.ts'

/** OpenID Connect tokens with many groups have some kilobytes. */
const MOST_TOKEN = 12_288
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/
/** Each costs a request to an API server, and users who are not signed in may cause it. */
const MOST_AT_ONCE = 16
/** A signed-in user may add a cluster that is slow to answer; others who sign in do not wait for it. */
const MOST_ADDED_AT_ONCE = 2

const busy = (): Refused => new Refused(503, 'Busy', 'many people sign in now; try again')

export class TokenSignIn {
  readonly #connect: ConnectAs
  readonly #home: string
  #asking = 0
  readonly #adding = new WeakMap<OwnClients, number>()

  constructor(connect: ConnectAs, home: string) {
    this.#connect = connect
    this.#home = home
  }

  async signIn(token: unknown): Promise<OwnClients> {
    if (this.#asking >= MOST_AT_ONCE) throw busy()
    this.#asking++
    const { client, name, groups, text } = await this.#reviewed(this.#home, token).finally(() => this.#asking--)
    return new OwnClients({
      person: { name, groups, how: 'Token' },
      home: this.#home,
      clients: new Map([[this.#home, client]]),
      // Only parsed: the API server has verified it.
      expiresAt: unverifiedEnd(text),
    })
  }

  /** Another cluster's token for a signed-in user: it is sent to that cluster only. */
  async add(who: OwnClients, cluster: string, token: unknown): Promise<void> {
    const adding = this.#adding.get(who) ?? 0
    if (adding >= MOST_ADDED_AT_ONCE) throw busy()
    this.#adding.set(who, adding + 1)
    const ended = () => this.#adding.set(who, (this.#adding.get(who) ?? 1) - 1)
    const { client } = await this.#reviewed(cluster, token).finally(ended)
    who.put(cluster, client)
  }

  async #reviewed(cluster: string, token: unknown) {
    const text = typeof token === 'string' ? token.trim() : ''
    if (text === '' || text.length > MOST_TOKEN || !TOKEN.test(text))
      throw new Refused(422, 'NotToken', 'this is not a bearer token')
    const client = this.#connect(cluster, { kind: 'Token', token: text })
    if (client === undefined) throw new Refused(404, 'NotFound', `there is no cluster ${cluster}`)
    try {
      return { client, text, ...(await ownerOf(client, cluster)) }
    } catch (e) {
      client.close()
      throw e
    }
  }
}

export async function ownerOf(client: OwnClient, cluster: string) {
  const answer = await introduced(client)
  if (answer.kind === 'Known') return answer.person
  throw answer.kind === 'Refused'
    ? new Refused(403, 'TokenRefused', `the API server of ${cluster} does not accept this token`)
    : new Refused(502, 'Api', `the API server of ${cluster} does not report whose token this is; try again`)
}
