// Counts the connections of a client, and the unanswered requests on each. A connection belongs to the client of its first request.
import type { Socket } from 'node:net'
import type { FlowLevel } from './levels.ts'

type Allowed = 'Open' | 'TooMany' | 'Pipelined'

interface Connection {
  unanswered: number
}

export class Connections {
  readonly #known = new WeakMap<Socket, Connection>()
  readonly #perFlow = new Map<string, number>()

  /** `answered` is called with the way to say so. */
  began(
    socket: Socket,
    { flow, level }: { readonly flow: string; readonly level: Pick<FlowLevel, 'connections' | 'pipelined'> },
    whenAnswered: (answered: () => void) => void,
  ): Allowed {
    let connection = this.#known.get(socket)
    if (connection === undefined) {
      const count = this.#perFlow.get(flow) ?? 0
      if (count >= level.connections) return 'TooMany'
      connection = { unanswered: 0 }
      this.#known.set(socket, connection)
      this.#perFlow.set(flow, count + 1)
      socket.once('close', () => this.#closed(flow))
    }
    if (connection.unanswered >= level.pipelined) return 'Pipelined'
    const { unanswered } = connection
    connection.unanswered = unanswered + 1
    const own = connection
    whenAnswered(() => void own.unanswered--)
    return 'Open'
  }

  #closed(flow: string): void {
    const left = (this.#perFlow.get(flow) ?? 0) - 1
    if (left > 0) this.#perFlow.set(flow, left)
    else this.#perFlow.delete(flow)
  }
}
