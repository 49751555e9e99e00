// Serves a fake vendor that shares its thread with much else: requests get the time of their arrival from a thread that does nothing else. On a busy machine what is
// counted by the time of its answer is counted in heaps that were not sent so.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FakeAnswer, FakeRequest, Handler } from './answers.ts'

export interface Arrival {
  readonly kind: 'Arrival'
  readonly id: number
  readonly request: FakeRequest
}

export interface ThreadReply {
  readonly id: number
  readonly answer: FakeAnswer | 'Lost'
}

type Said = Arrival | { readonly kind: 'Listening'; readonly port: number }

export interface StampedServer {
  readonly url: string
  /** The longest time between an arrival and its answer. */
  readonly heldBackMs: () => number
  close(): Promise<void>
}

export async function serveStamped(handler: Handler): Promise<StampedServer> {
  const thread = new Worker(new URL('./arrivals-thread.ts', import.meta.url))
  let heldBackMs = 0
  const port = await new Promise<number>((resolve, reject) => {
    thread.once('error', reject)
    thread.on('message', (said: Said) => {
      if (said.kind === 'Listening') return resolve(said.port)
      const { id, request } = said
      heldBackMs = Math.max(heldBackMs, Date.now() - (request.arrivedAt ?? Date.now()))
      const answer = handler(request)
      // Of those two a day of a region has none.
      const reply: ThreadReply = { id, answer: answer === 'Hang' || answer === 'Huge' ? 'Lost' : answer }
      thread.postMessage(reply, [])
    })
  })
  return {
    url: `http://127.0.0.1:${port}`,
    heldBackMs: () => heldBackMs,
    close: async () => {
      const ended = once(thread, 'exit')
      await thread.terminate()
      await ended
    },
  }
}
