// A TCP proxy between a client and a server that can be made to stall, cut, delay or trickle, per connection or for all that are open.
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'

/** What happens to bytes from the server to the client. */
export type Weather =
  | { readonly kind: 'clear' }
  /** Nothing is forwarded in either direction and nothing is closed: a cable pulled behind a switch. */
  | { readonly kind: 'halfOpen' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** So many bytes every so many milliseconds. */
  | { readonly kind: 'trickle'; readonly bytes: number; readonly everyMs: number }
  /** The connection that carries this many more bytes is ended there; then the weather clears. */
  | { readonly kind: 'cutAfter'; readonly bytes: number }

export interface FaultProxy {
  readonly port: number
  /** Holds for all connections, open and new. */
  weather: Weather
  readonly connections: number
  readonly accepted: number
  /** TCP reset of all that are open. */
  reset(): void
  /** New connections are refused with a reset. */
  refuse: boolean
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const pairs = new Set<Pair>()
  let accepted = 0
  const listener = net.createServer({ pauseOnConnect: false }, (client) => {
    accepted++
    if (proxy.refuse) {
      client.resetAndDestroy()
      return
    }
    const server = net.connect(target, '127.0.0.1')
    const pair = { client, server }
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    client.setNoDelay(true)
    server.setNoDelay(true)
    for (const socket of [client, server]) {
      socket.on('error', end)
      socket.on('close', () => {
        if (proxy.weather.kind !== 'halfOpen') end()
      })
    }
    client.on('data', (chunk) => {
      if (proxy.weather.kind !== 'halfOpen') server.write(chunk)
    })
    server.on('data', (chunk: Buffer) => forward(proxy, pair, chunk, end))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const proxy: FaultProxy = {
    port: (listener.address() as AddressInfo).port,
    weather: { kind: 'clear' },
    get connections() {
      return pairs.size
    },
    get accepted() {
      return accepted
    },
    refuse: false,
    reset() {
      for (const { client, server } of pairs) {
        client.resetAndDestroy()
        server.destroy()
      }
      pairs.clear()
    },
    async close() {
      for (const { client, server } of pairs) {
        client.destroy()
        server.destroy()
      }
      listener.close()
      await once(listener, 'close')
    },
  }
  return proxy
}

function forward(proxy: FaultProxy, { client, server }: Pair, chunk: Buffer, end: () => void): void {
  const weather = proxy.weather
  switch (weather.kind) {
    case 'halfOpen':
      return
    case 'clear':
      if (!client.write(chunk)) {
        server.pause()
        client.once('drain', () => server.resume())
      }
      return
    case 'delay':
      setTimeout(() => client.destroyed || client.write(chunk), weather.ms)
      return
    case 'trickle':
      trickle(client, server, chunk, weather.bytes, weather.everyMs)
      return
    case 'cutAfter': {
      const left = weather.bytes
      client.write(chunk.subarray(0, left))
      if (chunk.length < left) {
        proxy.weather = { kind: 'cutAfter', bytes: left - chunk.length }
        return
      }
      proxy.weather = { kind: 'clear' }
      setImmediate(end)
    }
  }
}

function trickle(client: Socket, server: Socket, chunk: Buffer, bytes: number, everyMs: number): void {
  server.pause()
  let at = 0
  const timer = setInterval(() => {
    if (client.destroyed || at >= chunk.length) {
      clearInterval(timer)
      server.resume()
      return
    }
    client.write(chunk.subarray(at, at + bytes))
    at += bytes
  }, everyMs)
}
