// What a kubenode-provider/v1 program must do in addition to any provider: its errors are the protocol's, so that none is taken for an answer.
import type { Clock } from '#lib/clock.ts'
import { checked } from '../door.ts'
import { Asker, type Question } from './ask.ts'
import { doorAt, type RemotePlace } from './place.ts'
import { createReaders, type ErrorKind } from './protocol.ts'

interface WireTools {
  readonly place: RemotePlace
  readonly name: string
  readonly clock: Clock
}

export interface WireCase {
  readonly name: string
  /** Throws if the program does not conform; returns a reason if the case does not apply. */
  run(tools: WireTools): Promise<string | undefined>
}

const WITHIN_MS = 10_000

async function mustFail(
  { place, clock }: WireTools,
  question: Pick<Question, 'path' | 'body'>,
  kind: ErrorKind,
  token?: string,
): Promise<undefined> {
  const door = await doorAt(place)
  const asker = new Asker(door.kind === 'Https' && token !== undefined ? { ...door, token } : door, clock)
  try {
    const { status, value } = await asker.ask({ method: 'POST', ...question, withinMs: WITHIN_MS })
    if (status === 200) throw new Error(`it answered ${question.path} with status 200, expected the error ${kind}`)
    const { error } = checked(createReaders().failure(value))
    if (error.kind !== kind)
      throw new Error(`it answered ${question.path} with the error ${error.kind}, expected ${kind}`)
    return undefined
  } finally {
    asker.close()
  }
}

export const WIRE_CONFORMANCE: readonly WireCase[] = [
  {
    name: 'an unknown call is the error NotServed',
    run: (tools) => mustFail(tools, { path: '/v1/never-heard-of', body: '{}' }, 'NotServed'),
  },
  {
    name: 'a body that is not JSON is the error Invalid',
    run: (tools) => mustFail(tools, { path: '/v1/get', body: '{"providerID":' }, 'Invalid'),
  },
  {
    name: 'a get without an id is the error Invalid',
    run: (tools) => mustFail(tools, { path: '/v1/get', body: '{}' }, 'Invalid'),
  },
  {
    name: 'a create without a client token is the error Invalid, and makes nothing',
    run: (tools) =>
      mustFail(
        tools,
        { path: '/v1/create', body: JSON.stringify({ machine: 'tokenless', machineUid: 'tokenless', params: {} }) },
        'Invalid',
      ),
  },
  {
    name: 'a wrong token is the error Unauthorized',
    run: async (tools) => {
      if (tools.place.kind === 'Socket' || tools.place.tokenFile === undefined) return 'no token is in use'
      return mustFail(tools, { path: '/v1/list', body: '{}' }, 'Unauthorized', 'wrong')
    },
  },
]
