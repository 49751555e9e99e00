// Members of the etcd of a control plane that lose their volumes, with real programs and exactly the commands that are rendered for them.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EtcdMembers, whyNoMembers } from '#test/support/worlds/etcd-members.ts'
import { until } from '#test/support/tools/processes.ts'

const WITHIN_MS = 90_000
/** Of the log of each member that is not ready. */
const LOG_CHARS = 1_500
const why = whyNoMembers()

let members: EtcdMembers
beforeEach(async (context) => {
  if (why !== undefined) context.skip(`members of etcd: ${why}`)
  members = await EtcdMembers.create()
  members.start(0, 1, 2)
  await areReady(0, 1, 2)
  await members.ask(0, 'put', 'kept', 'before')
})
afterEach(() => members?.close())

const areReady = (...wanted: readonly number[]) =>
  until(
    `members ${wanted.join(', ')} are ready`,
    async () => ((await members.ready()).join() === wanted.join() ? true : undefined),
    WITHIN_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${wanted.map((n) => members.log(n).slice(-LOG_CHARS)).join('\n---\n')}`)
  })
const says = (member: number, text: string) =>
  until(`member ${member} says "${text}"`, async () => members.log(member).includes(text) || undefined, WITHIN_MS)

const refuses = (member: number) => says(member, 'member count is unequal')

const loseTwo = async () => {
  await members.end(0, 1, 2)
  members.empty(1, 2)
  members.start(1, 2)
}

test('a majority with empty volumes founds a second store as long as nothing tells it that there was one', async () => {
  await loseTwo()
  await areReady(1, 2)
  expect(await members.ask(1, 'get', 'kept')).toBe('')
})

test('a majority with empty volumes founds nothing once the store was founded', async () => {
  members.isFounded = true
  members.startsEmpty = false
  await loseTwo()
  for (const n of [1, 2]) await says(n, 'cannot fetch cluster info from peer urls')
  expect(await members.ready()).toEqual([])
})

test('a member with an empty volume does not start under its old number, whichever it is, and is whole again once it was removed and added', async () => {
  members.isFounded = true
  for (const lost of [0, 1, 2]) {
    const others = [0, 1, 2].filter((n) => n !== lost)
    const [first = 0, second = 0] = others
    members.startsEmpty = false
    await members.end(lost)
    members.empty(lost)
    // Nothing replaces it: it is started again and again, also while another one comes back, or becomes the leader.
    members.start(lost)
    await refuses(lost)
    await members.end(lost, second)
    members.start(lost, second)
    await areReady(...others)
    await members.end(lost)
    members.start(lost)
    await refuses(lost)
    expect(await members.ready()).toEqual(others)

    const list = (await members.ask(first, 'member', 'list')).split('\n')
    const [id = ''] = list.find((line) => line.includes(`etcd-${lost}`))?.split(',') ?? []
    // Both are refused for a few seconds after a member of the majority came or went.
    const change = (...words: readonly string[]) =>
      until(words[0] ?? '', () => members.ask(first, 'member', ...words), WITHIN_MS)
    await change('remove', id)
    await change('add', `etcd-${lost}`, `--peer-urls=${members.peerUrl(lost)}`)
    await members.end(lost)
    members.startsEmpty = true
    members.start(lost)
    await areReady(0, 1, 2)
    expect(await members.ask(lost, 'get', 'kept', '--print-value-only')).toBe('before')
  }
})

test('members with data start, whatever the list names', async () => {
  members.isFounded = true
  members.startsEmpty = false
  await members.end(0, 1, 2)
  members.start(0, 1, 2)
  await areReady(0, 1, 2)
  expect(await members.ask(2, 'get', 'kept', '--print-value-only')).toBe('before')
})
