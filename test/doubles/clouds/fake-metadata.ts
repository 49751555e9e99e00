// The metadata service of a host over HTTP on loopback: sessions as both vendors give them, pages that a test sets, and its faults.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface FakeMetadata {
  readonly url: string
  /** By path, without the first slash. What is not here is answered with 404. */
  readonly pages: Map<string, string>
  readonly asked: string[]
  /** How many sessions were given. */
  readonly sessions: () => number
  /** All sessions end. */
  forget(): void
  /** What the next requests of pages get instead. */
  fault: 'None' | 'Hang' | 'Huge' | 'Redirect' | 'Nonsense' | 'Error'
  close(): Promise<void>
}

const HEADERS = {
  AWS: ['x-aws-ec2-metadata-token', 'x-aws-ec2-metadata-token-ttl-seconds'],
  Alicloud: ['x-aliyun-ecs-metadata-token', 'x-aliyun-ecs-metadata-token-ttl-seconds'],
} as const

export async function serveMetadata(cloud: keyof typeof HEADERS): Promise<FakeMetadata> {
  const [sessionHeader, secondsHeader] = HEADERS[cloud]
  const known = new Set<string>()
  let given = 0
  const server = createServer((request, response) => answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const fake: FakeMetadata = {
    url,
    pages: new Map(),
    asked: [],
    sessions: () => given,
    forget: () => known.clear(),
    fault: 'None',
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return fake

  function answer({ method, url: path = '', headers }: IncomingMessage, response: ServerResponse): void {
    const say = (status: number, text = ''): void => void response.writeHead(status).end(text)
    if (path === '/latest/api/token') {
      if (method !== 'PUT') return say(405)
      const seconds = Number(headers[secondsHeader])
      if (!(seconds >= 1 && seconds <= 21_600)) return say(400)
      const token = `session-${++given}`
      known.add(token)
      return say(200, token)
    }
    if (method !== 'GET') return say(405)
    if (!known.has(String(headers[sessionHeader]))) return say(401)
    fake.asked.push(path)
    if (fake.fault === 'Hang') return
    if (fake.fault === 'Huge') return say(200, ' '.repeat(1024 * 1024))
    if (fake.fault === 'Redirect') return void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    if (fake.fault === 'Nonsense') return say(200, '<html>Sign in to this network</html>')
    if (fake.fault === 'Error') return say(500)
    const page = fake.pages.get(path.slice(1))
    return page === undefined ? say(404) : say(200, page)
  }
}
