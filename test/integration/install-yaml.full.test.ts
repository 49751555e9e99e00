// install.yaml with kubectl, in both ways of applying; it takes minutes, since kubectl asks for each object one after the other.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'

const FILE = join(import.meta.dirname, '../../deploy/install.yaml')
const MINUTES = 10 * 60_000
/** kubectl sends the selector of a budget each time, since a strategic patch replaces it as a whole; nothing changes. */
const ALWAYS_SENT = /^poddisruptionbudget\.policy\/.* configured$/

describe.each(apiServers)('kubectl on $name', ({ start }) => {
  let server: RunningServer
  let kubectl: Kubectl
  beforeAll(async () => {
    server = await start()
    kubectl = new Kubectl(server)
  })
  afterAll(() => server?.stop())
  const lines = async (words: string): Promise<readonly string[]> =>
    (await kubectl.ok(`apply ${words} -f`, [FILE])).trim().split('\n')
  const versions = (): Promise<string> =>
    kubectl.ok('get -f', [
      FILE,
      '-o',
      String.raw`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`,
    ])

  test(
    'merges it in one go, and once more without a change',
    async () => {
      expect((await lines('')).filter((l) => !l.endsWith(' created'))).toEqual([])
      const before = await versions()
      expect((await lines('')).filter((l) => !l.endsWith(' unchanged') && !ALWAYS_SENT.test(l))).toEqual([])
      expect(await versions()).toEqual(before)
    },
    MINUTES,
  )

  test(
    'takes over what was merged when the server applies it',
    async () => {
      const words = '--server-side --force-conflicts'
      expect((await lines(words)).filter((l) => !l.endsWith(' serverside-applied'))).toEqual([])
    },
    MINUTES,
  )
})
