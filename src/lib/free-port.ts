// Finds a loopback port that is free right now.
import { createServer } from 'node:net'

const LOOPBACK = '127.0.0.1'

/** The port obtained, 0 for any; undefined if it is taken. */
export const freePort = (port = 0): Promise<number | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(undefined))
    probe.listen(port, LOOPBACK, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })
