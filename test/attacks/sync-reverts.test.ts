// The attacker has the key that sync signs its reverts with, or may push beside it. The commits are made by the real git; the control cases are accepted.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { createValidator } from '#api/validate.ts'
import { systemClock } from '#lib/system-clock.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { commitDigest, Verification } from '#sync/hub/source/verified.ts'
import { NewObjects, signedCommit } from '#sync/revert/commit.ts'
import { putBack } from '#sync/revert/put-back.ts'
import { parseSigningKey } from '#sync/trust/ssh-sign.ts'
import { revertTrailers } from '#sync/trust/revert-trailers.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

type Verify = NonNullable<FleetSource['spec']['verify']>
const NOW = Date.parse('2026-11-22T12:00:00Z')

let r: SignedRepository
const ids = { anchor: '', good: '', bad: '', later: '' }
beforeAll(() => {
  r = new SignedRepository(['ada', 'bob', 'sync'])
  ids.anchor = r.commit({ 'fleet/a.ts': '0', 'rules/r.ts': '1' }, { key: undefined })
  ids.good = r.commit({ 'fleet/a.ts': '1', 'trust/signers.yaml': signersFile() }, { key: 'ada' })
  ids.bad = r.commit({ 'fleet/a.ts': '2', 'fleet/b/c.ts': '2' }, { key: 'ada' })
  ids.later = r.commit({ 'rules/r.ts': '2' }, { key: 'ada' })
})
afterAll(() => r.remove())

const signersFile = () => JSON.stringify({ signers: [] })
const signer = (name: string, more = {}) => ({ principal: `${name}@example.org`, keys: [r.publicKey(name)], ...more })

async function verdict(head: string, verify: Partial<Verify> = {}, approvedBy: readonly string[] = []) {
  const source = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace: 'kubenode-system', uid: 'u-1' },
    spec: {
      url: r.url,
      ref: { branch: 'main' },
      verify: {
        mode: 'FirstParent',
        anchor: ids.anchor,
        signers: [signer('ada'), signer('bob'), signer('sync', { sync: true })],
        ...verify,
      },
      tracks: [{ name: 'fleet', match: {}, pipelineRef: { name: 'standard' } }],
    },
  } as unknown as FleetSource
  const approved = new Map([[commitDigest(source, head), new Set(approvedBy)]])
  const repository = openLocalRepository(r.url)
  const signal = new AbortController().signal
  const question = { source, repository, head, approved, now: NOW, signal }
  const trust = await new Verification(systemClock, createValidator()).judge(question)
  return trust.kind === 'Refused' ? `${trust.reason}: ${trust.message}` : trust.kind
}

const names = (reverts: string, restores: string) => `Revert\n\n${revertTrailers({ reverts, restores })}`

/** As sync makes it, in the repository. */
function bySync(
  parent = ids.later,
  reverts = ids.bad,
  restores = ids.good,
  message = names(reverts, restores),
): string {
  const key = parseSigningKey(readFileSync(join(r.folder, 'sync'), 'utf8'))
  const repository = openLocalRepository(r.url)
  const tree = (id: string) => r.inBare(['rev-parse', `${id}^{tree}`])
  const objects = new NewObjects()
  const made = putBack({
    good: tree(restores),
    bad: tree(reverts),
    parent: tree(parent),
    treeOf: (id) => repository.treeEntries(id, 'test'),
    write: objects.addTree,
  })
  if (made.kind === 'Problem') throw new Error(made.why)
  objects.add('commit', signedCommit({ tree: made.tree, parent, at: NOW, message }, key))
  let last = ''
  for (const { type, content } of objects.all.values())
    last = r.inBare(['hash-object', '-t', type, '-w', '--stdin'], content)
  return last
}

/** By the real git, with the stolen key. */
function stolen(base: string, files: Readonly<Record<string, string>>, message: string, more: readonly string[] = []) {
  r.git('checkout', '--quiet', '--force', '--detach', base)
  if (more.length > 0) r.git(...more)
  r.write(files)
  r.git(...r.signedBy('sync'), 'commit', '-S', '--quiet', '--allow-empty', '-m', message)
  return published()
}

function published(): string {
  const id = r.git('rev-parse', 'HEAD')
  r.git('push', '--quiet', 'origin', `HEAD:refs/heads/try-${id.slice(0, 16)}`)
  return id
}

/** Ada's own next commit. */
function byAda(base: string, files: Readonly<Record<string, string>>): string {
  r.git('fetch', '--quiet', 'origin')
  r.inBare(['update-ref', `refs/heads/base-${base.slice(0, 12)}`, base])
  r.git('fetch', '--quiet', 'origin', `base-${base.slice(0, 12)}`)
  r.git('checkout', '--quiet', '--force', '--detach', base)
  r.write(files)
  r.git(...r.signedBy('ada'), 'commit', '-S', '--quiet', '--allow-empty', '-m', 'next')
  return published()
}

describe('a revert as sync writes it', () => {
  test('is followed, its signature is one for git, and git finds its objects whole', async () => {
    const id = bySync()
    for (const mode of ['FirstParent', 'All'] as const) expect(await verdict(id, { mode })).toBe('Verified')
    const allowed = join(r.folder, 'allowed_sync')
    r.writeInBare('../allowed_sync', `sync@example.org ${r.publicKey('sync')}\n`)
    expect(r.inBare(['-c', `gpg.ssh.allowedSignersFile=${allowed}`, 'verify-commit', id])).toBe('')
    r.inBare(['update-ref', 'refs/heads/checked', id])
    expect(r.inBare(['fsck', '--strict', '--no-dangling'])).toBe('')
    expect(r.inBare(['show', `${id}:fleet/a.ts`])).toBe('1')
    expect(r.inBare(['ls-tree', '-r', '--name-only', id])).toBe('fleet/a.ts\nrules/r.ts\ntrust/signers.yaml')
  })

  test('the same facts give the same commit', () => expect(bySync()).toBe(bySync()))

  test('people go on after it', async () =>
    expect(await verdict(byAda(bySync(), { 'fleet/a.ts': '5' }))).toBe('Verified'))
})

describe('without the key', () => {
  const AS_SYNC = ['-c', 'user.name=KubeNode sync', '-c', 'user.email=sync@kubenode.io'] as const
  const byHand = (key: string | undefined, files: Readonly<Record<string, string>>): string => {
    r.git('checkout', '--quiet', '--force', '--detach', ids.later)
    r.git('rm', '--quiet', 'fleet/b/c.ts')
    r.write(files)
    const signed =
      key === undefined ? [...AS_SYNC, 'commit', '--no-gpg-sign'] : [...AS_SYNC, ...r.signedBy(key), 'commit', '-S']
    r.git(...signed, '--quiet', '-m', names(ids.bad, ids.good))
    return published()
  }

  test('a revert by hand, with the name and the words of sync: it is judged by who signed it', async () => {
    const back = { 'fleet/a.ts': '1' }
    expect(await verdict(byHand(undefined, back))).toMatch(/^Unsigned/)
    const few = [signer('ada'), signer('bob', { paths: ['rules/**'] }), signer('sync', { sync: true })]
    expect(await verdict(byHand('bob', back), { signers: few })).toMatch(/^PathNotAllowed/)
    // Control: a signer who may change these files.
    expect(await verdict(byHand('ada', back))).toBe('Verified')
  })
})

describe('with the stolen key', () => {
  test('another commit: no names, or names and other content', async () => {
    expect(await verdict(stolen(ids.later, { 'fleet/a.ts': 'evil' }, 'Revert'))).toMatch(
      /^NotAnExactRevert: KN7050: .*sync@example.org .*does not name one commit/,
    )
    expect(await verdict(stolen(ids.later, { 'fleet/a.ts': 'evil' }, names(ids.bad, ids.good)))).toMatch(
      /does not restore fleet\/a.ts as it was/,
    )
  })

  test('a revert with one more path, or of paths that the commit did not change', async () => {
    const remove = ['rm', '--quiet', 'fleet/b/c.ts']
    const files = { 'fleet/a.ts': '1', 'fleet/evil.ts': '1' }
    expect(await verdict(stolen(ids.later, files, names(ids.bad, ids.good), remove))).toMatch(/changes fleet\/evil.ts/)
    expect(await verdict(stolen(ids.later, { 'rules/r.ts': '1' }, names(ids.bad, ids.good)))).toMatch(
      /changes rules\/r.ts, which the reverted commit did not change/,
    )
  })

  test('an executable bit in place of the content', async () => {
    const id = stolen(ids.later, { 'fleet/a.ts': '1' }, names(ids.bad, ids.good), ['rm', '--quiet', 'fleet/b/c.ts'])
    expect(await verdict(id)).toBe('Verified')
    r.git('checkout', '--quiet', '--force', '--detach', ids.later)
    r.git('rm', '--quiet', 'fleet/b/c.ts')
    r.write({ 'fleet/a.ts': '1' })
    r.git('update-index', '--chmod=+x', 'fleet/a.ts')
    r.git(...r.signedBy('sync'), 'commit', '-S', '--quiet', '-m', names(ids.bad, ids.good))
    expect(await verdict(published())).toMatch(/does not restore fleet\/a.ts as it was/)
  })

  test('back to what was never verified: a side branch, and before the anchor', async () => {
    r.git('checkout', '--quiet', '--force', '--detach', ids.good)
    r.write({ 'fleet/a.ts': 'evil' })
    r.git('commit', '--no-gpg-sign', '--quiet', '-m', 'side')
    const side = published()
    expect(await verdict(stolen(ids.later, { 'fleet/a.ts': 'evil' }, names(ids.bad, side)))).toMatch(
      /names [0-9a-f]{12}, which is none of the verified commits/,
    )
    const files = { 'fleet/a.ts': '0' }
    const id = stolen(ids.later, files, names(ids.bad, ids.anchor), ['rm', '--quiet', '-r', 'fleet/b', 'trust'])
    expect(await verdict(id)).toBe('Verified')
    expect(await verdict(id, { anchor: ids.good })).toMatch(/^(HistoryRewritten|NotAnExactRevert)/)
  })

  test('a replay: the same commit a second time, also on top of more', async () => {
    const back = byAda(bySync(), { 'fleet/a.ts': '2', 'fleet/b/c.ts': '2' })
    expect(await verdict(back)).toBe('Verified')
    expect(await verdict(bySync(back))).toMatch(/reverts [0-9a-f]{12} a second time/)
  })

  test('the revert of a revert', async () => {
    const first = bySync()
    expect(await verdict(bySync(first, first, ids.later))).toMatch(/reverts [0-9a-f]{12}, which is a revert by sync/)
  })

  test('the signature of one revert under another commit', async () => {
    const raw = openLocalRepository(r.url).commitBytes(bySync()).toString('latin1')
    const moved = raw.replace(`parent ${ids.later}`, `parent ${ids.bad}`)
    const id = r.inBare(['hash-object', '-t', 'commit', '-w', '--stdin'], Buffer.from(moved, 'latin1'))
    expect(await verdict(id)).toMatch(/^BadSignature/)
  })

  test('the mode that looks at the newest commit only', async () => {
    expect(await verdict(bySync(), { mode: 'Head' })).toMatch(/cannot be judged while spec.verify.mode is Head/)
  })

  test('the file of signers is not put back, whatever its count', async () => {
    const changed = byAda(ids.later, { 'trust/signers.yaml': `${signersFile()} ` })
    const file = { signersFile: { path: 'trust/signers.yaml', count: 1 } }
    expect(await verdict(changed, file)).toBe('Verified')
    expect(await verdict(bySync(changed, changed, ids.later), file)).toMatch(
      /puts back trust\/signers.yaml, the signers file/,
    )
  })

  test('thresholds bind, and the program counts as no person', async () => {
    const thresholds = [{ paths: ['fleet/**'], count: 2 }]
    const id = bySync()
    // Both people agreed to what ada signed.
    const people = ['ada@example.org', 'bob@example.org']
    expect(await verdict(id, { thresholds }, ['ada@example.org'])).toMatch(/^ApprovalsMissing/)
    expect(await verdict(id, { thresholds }, people)).toBe('Verified')
    const paths = [signer('ada'), signer('sync', { sync: true, paths: ['rules/**'] })]
    expect(await verdict(id, { signers: paths })).toMatch(/^PathNotAllowed/)
  })

  test('a revoked key signs nothing', async () => {
    const revoked = [{ key: r.fingerprint('sync') }]
    expect(await verdict(bySync(), { revoked })).toMatch(/^KeyRevoked/)
  })
})
