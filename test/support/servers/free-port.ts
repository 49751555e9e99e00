// A port for a program that cannot be asked which one it took; another program may take it in between.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { freePort as isFree } from '#lib/free-port.ts'

export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** What the system gives to others begins above. Each process of tests begins elsewhere. */
const [FIRST_OF_TESTS, LAST_OF_TESTS] = [10_000, 32_000]
let next = FIRST_OF_TESTS + ((process.pid * 16) % (LAST_OF_TESTS - FIRST_OF_TESTS))

/** The first of free ports in a row, for servers that stop and come back: the system gives none of them to a socket that asks for any. */
export async function portsToKeep(count: number): Promise<number> {
  for (;;) {
    const first = next + count > LAST_OF_TESTS ? FIRST_OF_TESTS : next
    next = first + count
    const found = await Promise.all(Array.from({ length: count }, (_, n) => isFree(first + n)))
    if (!found.includes(undefined)) return first
  }
}
