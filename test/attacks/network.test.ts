// A neighbor in the network, who reaches every port and has no key.
import { type OutgoingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { type Answer, type Attempt, type AttackWorld, tryOnServers } from '#test/support/attack-world.ts'
import { newAuthority } from '#test/support/tls.ts'

interface Sent {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly cert?: string
  readonly key?: string
}

const MASTERS = ['system:masters']

/** Over TLS with what a stranger has: nothing, or keys of their own making. */
const send = ({ server }: AttackWorld, path: string, { method = 'GET', headers = {}, ...keys }: Sent = {}) =>
  new Promise<Answer>((resolve, reject) => {
    const asked = request(`${server.url}${path}`, { method, headers, ca: server.ca, ...keys }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    asked.on('error', reject)
    asked.end()
  })

const SECRETS = '/api/v1/secrets'

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'a request without an identity reads Secrets',
    attempt: (world) => send(world, SECRETS),
    control: ({ server, ...world }) => send({ server, ...world }, SECRETS, { cert: server.cert, key: server.key }),
    refused: /^40[13] /,
  },
  {
    name: 'a forged token',
    attempt: (world) => send(world, SECRETS, { headers: { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' } }),
    refused: 401,
  },
  {
    name: 'a certificate of an authority of their own, in system:masters',
    attempt: async (world) => send(world, SECRETS, await (await newAuthority()).client('admin', MASTERS)),
    refused: /^40[13] /,
  },
  {
    name: 'headers of a front proxy that does not exist',
    attempt: (world) =>
      send(world, SECRETS, { headers: { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' } }),
    refused: /^40[13] /,
  },
  {
    name: 'impersonation without an identity',
    attempt: (world) =>
      send(world, SECRETS, { headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' } }),
    refused: /^40[13] /,
  },
]

tryOnServers('a neighbor in the network', ATTEMPTS)
