// The open streams with their users, limited in total and per user. A page that has to give way shows why.
import type { IncomingMessage } from 'node:http'
import { type Bounds, placeFor } from './fair-share.ts'
import { Refused } from './request.ts'
import type { SignedIn } from './sessions.ts'
import type { Stream } from './stream.ts'

/** A browser has one stream for all tabs; a user has browsers and private windows on several machines. */
const STREAMS: Bounds = { all: 500, ofPerson: 16 }

export class OpenStreams {
  readonly #bounds: Bounds
  /** Oldest first. */
  readonly #streams = new Map<Stream, { readonly opened: IncomingMessage; readonly person: string }>()

  constructor(bounds: Bounds = STREAMS) {
    this.#bounds = bounds
  }

  /** Called before opening one. Throws if there is no room. */
  makePlace({ person }: SignedIn): void {
    const taken = [...this.#streams].map(([item, { person: name }]) => ({ item, person: name }))
    const { all, ofPerson: most } = this.#bounds
    // All links of a console belong to the user who started it.
    const ofPerson = person.how === 'Link' ? all : most
    const place = placeFor(taken, person.name, { all, ofPerson })
    if (place.kind === 'Free') return
    if (place.kind === 'Refused')
      throw new Refused(
        503,
        'TooManyStreams',
        `${all} people follow this console, and it can serve no more of them with live changes; wait until one of them closes the page`,
      )
    const why =
      place.kind === 'PersonIsFull'
        ? `you have this console open in more than ${ofPerson} browsers`
        : `all ${all} places of this console are taken`
    place.from.bye(
      'TooManyStreams',
      `${why}, so the page that was opened first is paused; close pages that you do not need`,
    )
  }

  add(stream: Stream, opened: IncomingMessage, { person }: SignedIn): void {
    this.#streams.set(stream, { opened, person: person.name })
  }

  delete(stream: Stream): void {
    this.#streams.delete(stream)
  }

  /** Tabs of a signed-out user get nothing new. */
  endThose(isOver: (opened: IncomingMessage) => boolean): void {
    for (const [stream, { opened }] of this.#streams) if (isOver(opened)) stream.bye('SessionEnded')
  }

  /** Checks each for new rights and clusters now, not at its next heartbeat. */
  recheck(): void {
    for (const stream of this.#streams.keys()) stream.recheck()
  }

  stop(): void {
    for (const stream of this.#streams.keys()) stream.bye('Stopping')
  }
}
