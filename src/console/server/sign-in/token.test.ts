// Who waits for whom while API servers are slow to identify a token's user.
import { expect, test } from 'vitest'
import { type ConnectAs, type OwnClient, OwnClients } from './own-clients.ts'
import { TokenSignIn } from './token.ts'

const HOME = 'home'

/** Clusters other than the home never answer. */
const connect: ConnectAs = (cluster) =>
  ({
    raw: () =>
      cluster === HOME
        ? Promise.resolve({ status: 201, text: '{"status":{"userInfo":{"username":"ada","groups":[]}}}' })
        : new Promise(() => undefined),
    close: () => undefined,
  }) as unknown as OwnClient

test('a cluster that does not answer keeps no other person out, however often one person tries to add it', async () => {
  const door = new TokenSignIn(connect, HOME)
  const mallory = await door.signIn('token')
  const tries = Array.from({ length: 40 }, () => door.add(mallory, 'edge', 'token').catch((e: unknown) => String(e)))
  expect(await Promise.race([tries[39], Promise.resolve('waits')])).toBe('waits')
  expect((await door.signIn('token')).person.name).toBe('ada')
  const other = new OwnClients({ person: mallory.person, home: HOME, clients: new Map() })
  await expect(door.add(other, HOME, 'token')).resolves.toBeUndefined()
  expect(await tries[39]).toContain('try again')
})
