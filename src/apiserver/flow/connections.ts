// Counts the connections of a client, and the unanswered requests on each. A connection belongs to the client of its first request.
import type { Socket } from 'node:net'
import type { Holder, Holdings } from './holdings.ts'
import type { FlowLevel } from './levels.ts'

type Allowed = 'Open' | 'TooMany' | 'Pipelined'

interface Connection {
  unanswered: number
}

export class Connections {
  readonly #known = new WeakMap<Socket, Connection>()
  readonly #holdings: Holdings

  constructor(holdings: Holdings) {
    this.#holdings = holdings
  }

  /** `answered` is called with the way to say so. Without a holder it is a stranger's: those are counted elsewhere. */
  began(
    socket: Socket,
    {
      holder,
      level,
    }: { readonly holder: Holder | undefined; readonly level: Pick<FlowLevel, 'connections' | 'pipelined'> },
    whenAnswered: (answered: () => void) => void,
  ): Allowed {
    let connection = this.#known.get(socket)
    if (connection === undefined) {
      if (holder !== undefined) {
        if (!this.#holdings.take('connections', holder, 1, level.connections)) return 'TooMany'
        socket.once('close', () => this.#holdings.give('connections', holder, 1))
      }
      connection = { unanswered: 0 }
      this.#known.set(socket, connection)
    }
    if (connection.unanswered >= level.pipelined) return 'Pipelined'
    const { unanswered } = connection
    connection.unanswered = unanswered + 1
    const own = connection
    whenAnswered(() => void own.unanswered--)
    return 'Open'
  }
}
