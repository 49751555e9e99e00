// A port of loopback that is free at this moment.
import { createServer } from 'node:net'

const LOOPBACK = '127.0.0.1'

/** The port that was got, 0 for any; undefined when it is taken. */
export const freePort = (port = 0): Promise<number | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(undefined))
    probe.listen(port, LOOPBACK, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })
