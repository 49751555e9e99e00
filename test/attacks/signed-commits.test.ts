// The attacker may push to the branch of a FleetSource that verifies commits. Commits are made by the real git, or by hand where git refuses to; each
// case names the row of the attack table, or the rule, that it tests. The control cases are accepted: a check that refuses everything proves nothing.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { createValidator } from '#api/validate.ts'
import { refOf } from '#delivery/object-ref.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import type { Trust } from '#sync/hub/source/trust-seen.ts'
import { commitDigest, Verification } from '#sync/hub/source/verified.ts'
import { withinScope } from '#sync/sources/scope.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

type Verify = NonNullable<FleetSource['spec']['verify']>
const NOW = Date.parse('2026-11-22T12:00:00Z')
const HOUR_MS = 3_600_000

let r: SignedRepository
let anchor: string
const ids: Record<string, string> = {}
beforeAll(() => {
  r = new SignedRepository(['ada', 'bob', 'eve', 'forge'])
  anchor = r.commit(
    { 'fleet/a.ts': '1', 'rules/r.ts': '1', 'trust/signers.yaml': signersFile('bob') },
    { key: undefined },
  )
  ids['good'] = r.commit({ 'fleet/a.ts': '2' }, { key: 'ada' })
})
afterAll(() => r.remove())

const signersFile = (...names: readonly string[]) =>
  JSON.stringify({ signers: names.map((name) => ({ principal: `${name}@example.org`, keys: [r.publicKey(name)] })) })

const signer = (name: string, more: Partial<NonNullable<Verify['signers']>[number]> = {}) => ({
  principal: `${name}@example.org`,
  keys: [r.publicKey(name)],
  ...more,
})

interface Wish {
  readonly head: string
  readonly verify?: Partial<Verify>
  readonly ref?: FleetSource['spec']['ref']
  readonly seen?: NonNullable<FleetSource['status']>['seen']
  readonly verified?: NonNullable<FleetSource['status']>['verified']
  readonly approvers?: Readonly<Record<string, readonly string[]>>
  readonly now?: number
}

function sourceOf({ verify, ref, seen, verified }: Omit<Wish, 'head'>): FleetSource {
  const spec = { mode: 'All', anchor, signers: [signer('ada')], ...verify }
  return {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace: 'kubenode-system', uid: 'u-1' },
    spec: {
      url: r.url,
      ref: ref ?? { branch: 'main' },
      path: '.',
      interval: '1m',
      verify: spec,
      tracks: [{ name: 'fleet', match: {}, pipelineRef: { name: 'standard' } }],
      prune: { enabled: true, guard: '10%' },
      drift: 'Correct',
    },
    status: defined({ seen, verified }),
  } as unknown as FleetSource
}

async function judge({ head, approvers = {}, now = NOW, ...wish }: Wish): Promise<Trust> {
  const source = sourceOf(wish)
  const approved = new Map(
    Object.entries(approvers).map(([commit, by]) => [
      commitDigest(source, commit),
      new Set(by.map((n) => `${n}@example.org`)),
    ]),
  )
  const repository = openLocalRepository(r.url)
  const verification = new Verification(systemClock, createValidator())
  return verification.judge({ source, repository, head, approved, now, signal: new AbortController().signal })
}

const said = (trust: Trust): string => (trust.kind === 'Refused' ? `${trust.reason}: ${trust.message}` : trust.kind)
const verdict = async (wish: Wish): Promise<string> => said(await judge(wish))

/** A commit on top of another one, not on the branch of the others. */
function on(base: string, files: Readonly<Record<string, string>>, key: string | undefined, env = {}): string {
  return r.commitAside(base, files, { key, message: `change ${Object.keys(files).join(' ')}`, env })
}
const good = () => ids['good'] ?? ''

/** The bare repository has it, too, on no branch. */
const published = (): string => r.git('rev-parse', 'HEAD')

/** An object that git itself would not write. */
function written(type: 'commit' | 'tag', text: string | Buffer): string {
  return r.inBare(['hash-object', '-t', type, '-w', '--literally', '--stdin'], Buffer.from(text as string))
}

function merged(
  base: string,
  others: readonly string[],
  key: string | undefined,
  edit: () => void = () => undefined,
): string {
  r.git('checkout', '--quiet', '--force', '--detach', base)
  r.git('merge', '--quiet', '--no-commit', '--no-ff', ...others)
  edit()
  r.git('add', '--all')
  r.git(
    ...(key === undefined ? ['commit', '--no-gpg-sign'] : [...r.signedBy(key), 'commit', '-S']),
    '--quiet',
    '-m',
    'merge',
  )
  return published()
}

const rawOf = (id: string): Buffer => openLocalRepository(r.url).commitBytes(id)

describe('S4 S34 attack table', () => {
  test('control: a valid key is accepted, with principal, key and time', async () => {
    const trust = await judge({ head: good() })
    expect(trust).toMatchObject({
      kind: 'Verified',
      commits: 1,
      verified: {
        commit: good(),
        principal: 'ada@example.org',
        key: r.fingerprint('ada'),
        firstSeen: '2026-11-22T12:00:00Z',
      },
    })
    expect(r.git('-c', `gpg.ssh.allowedSignersFile=${r.allowedSigners()}`, 'verify-commit', good())).toBe('')
  })

  test('a commit author without a key: unsigned', async () => {
    expect(await verdict({ head: on(good(), { 'fleet/a.ts': 'x' }, undefined) })).toMatch(
      /^Unsigned: KN7030: .*commit [0-9a-f]{12}: it has no signature; sign it/,
    )
  })

  test('a key of no signer', async () => {
    expect(await verdict({ head: on(good(), { 'fleet/a.ts': 'x' }, 'eve') })).toMatch(`UnknownKey: KN7032: `)
  })

  test('a revoked key, also for a commit with an old date', async () => {
    const head = on(good(), { 'fleet/a.ts': 'r' }, 'ada', {
      GIT_COMMITTER_DATE: '2020-01-01T00:00:00Z',
      GIT_AUTHOR_DATE: '2020-01-01T00:00:00Z',
    })
    const revoked = [{ key: r.fingerprint('ada'), since: '2026-11-01T00:00:00Z' }]
    expect(await verdict({ head, verify: { revoked } })).toMatch(
      /^KeyRevoked: KN7034: .*SHA256:.* revoked since 2026-11-01T00:00:00Z/,
    )
  })

  test('an expired key with a back-dated committer date, which git verify-commit accepts', async () => {
    const head = on(good(), { 'fleet/a.ts': 'b' }, 'ada', { GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' })
    const signers = [signer('ada', { until: '2026-06-01T00:00:00Z' })]
    expect(await verdict({ head, verify: { signers } })).toMatch(
      /^KeyExpired: KN7030: .*valid until 2026-06-01T00:00:00Z, and was first seen at 2026-11-22/,
    )
  })

  test('a signed merge that brings unsigned commits: refused in All, accepted in FirstParent', async () => {
    const side = on(good(), { 'fleet/side.ts': '1' }, undefined)
    const head = merged(good(), [side], 'ada')
    expect(await verdict({ head })).toMatch(`Unsigned: KN7030: cannot follow commit ${side.slice(0, 12)}`)
    expect(await verdict({ head, verify: { mode: 'FirstParent' } })).toBe('Verified')
  })

  test('an unsigned commit that refs/replace turns into a signed one', async () => {
    const bad = on(good(), { 'fleet/a.ts': 'evil' }, undefined)
    r.inBare(['update-ref', `refs/replace/${bad}`, good()])
    expect(await verdict({ head: bad })).toMatch(/^Unsigned/)
  })

  test('grafts and a shallow mark in the repository change nothing', async () => {
    const bad = on(on(good(), { 'fleet/a.ts': 'g' }, undefined), { 'fleet/b.ts': 'g' }, 'ada')
    r.writeInBare('info/grafts', `${bad} ${good()}\n`)
    r.writeInBare('shallow', `${bad}\n`)
    expect(await verdict({ head: bad })).toMatch(/^Unsigned/)
    r.removeInBare('info/grafts')
    r.removeInBare('shallow')
  })

  test('the name of another user in author and committer: the key says who it was', async () => {
    const env = { GIT_AUTHOR_EMAIL: 'bob@example.org', GIT_COMMITTER_EMAIL: 'bob@example.org' }
    const trust = await judge({
      head: on(good(), { 'fleet/a.ts': 'n' }, 'ada', env),
      verify: { signers: [signer('ada'), signer('bob')] },
    })
    expect(trust).toMatchObject({ kind: 'Verified', verified: { principal: 'ada@example.org' } })
  })
})

describe('rule 1: every commit since the last verified one, which must be below', () => {
  test('a good commit on top of a bad one does not help', async () => {
    const bad = on(good(), { 'fleet/a.ts': 'x1' }, undefined)
    const head = on(bad, { 'fleet/a.ts': '2' }, 'ada')
    expect(await verdict({ head })).toContain(`commit ${bad.slice(0, 12)}: it has no signature`)
    expect(await verdict({ head, verify: { mode: 'FirstParent' } })).toContain(`commit ${bad.slice(0, 12)}`)
    expect(await verdict({ head, verify: { mode: 'Head' } })).toBe('Verified')
  })

  const verified = () => ({ commit: good(), anchor, firstSeen: '2026-11-22T11:00:00Z', key: r.fingerprint('ada') })

  test('going back to an earlier signed commit is HistoryRewritten, in each mode', async () => {
    for (const mode of ['Head', 'FirstParent', 'All'] as const)
      expect(await verdict({ head: anchor, verified: verified(), verify: { mode } })).toMatch(
        /^HistoryRewritten: KN7040: .*spec.verify.anchor/,
      )
  })

  test('a history of another repository, signed by the same person', async () => {
    r.git('checkout', '--quiet', '--force', '--orphan', 'elsewhere')
    r.write({ 'fleet/a.ts': 'other' })
    r.git(...r.signedBy('ada'), 'commit', '-S', '--quiet', '-m', 'another repository')
    const head = published()
    for (const mode of ['Head', 'FirstParent', 'All'] as const)
      expect(await verdict({ head, verify: { mode } })).toMatch(/^HistoryRewritten/)
  })

  test('a merge that has the branch as its second parent is on another line', async () => {
    const old = on(anchor, { 'fleet/old.ts': '1' }, 'ada')
    const head = merged(old, [good()], 'ada')
    expect(await verdict({ head, verified: verified(), verify: { mode: 'FirstParent' } })).toMatch(/^HistoryRewritten/)
    expect(await verdict({ head, verified: verified() })).toBe('Verified')
  })

  test('an old branch that is merged: only what is new is judged', async () => {
    const old = on(anchor, { 'fleet/older.ts': '1' }, 'ada')
    const next = merged(good(), [old], 'ada')
    expect(await judge({ head: next, verified: verified() })).toMatchObject({ kind: 'Verified', commits: 2 })
  })

  test('the commit in force, whose key was revoked for when it was seen', async () => {
    const [key, head] = [r.fingerprint('ada'), good()]
    const early = [{ key, since: '2026-11-22T10:00:00Z' }]
    const late = [{ key, since: '2026-11-22T11:30:00Z' }]
    expect(await verdict({ head, verified: verified(), verify: { revoked: early } })).toMatch(/^KeyRevoked/)
    expect(await verdict({ head, verified: verified(), verify: { revoked: late } })).toBe('Verified')
  })
})

describe('rule 2: the time is when the hub first saw the commit', () => {
  test('seen while the key was valid, and judged when it no longer is', async () => {
    const head = on(good(), { 'fleet/a.ts': 't' }, 'ada')
    const signers = [signer('ada', { until: '2026-11-22T11:30:00Z' })]
    expect(await verdict({ head, verify: { signers } })).toMatch(/^KeyExpired/)
    const seen = [{ commit: head, at: '2026-11-22T11:00:00Z' }]
    expect(await verdict({ head, verify: { signers }, seen })).toBe('Verified')
    // What lies below a commit was there when that was seen; what lies above was not.
    const next = on(head, { 'fleet/a.ts': 'u' }, 'ada')
    expect(await verdict({ head: next, verify: { signers }, seen })).toContain(`commit ${next.slice(0, 12)}`)
    expect(
      await verdict({ head: next, verify: { signers }, seen: [{ commit: next, at: '2026-11-22T11:00:00Z' }] }),
    ).toBe('Verified')
  })

  test('a key that is not valid yet, with a date from later', async () => {
    const head = on(good(), { 'fleet/a.ts': 'e' }, 'ada', { GIT_COMMITTER_DATE: '2030-01-01T00:00:00Z' })
    const signers = [signer('ada', { since: '2027-01-01T00:00:00Z' })]
    expect(await verdict({ head, verify: { signers } })).toMatch(/^KeyNotYetValid: KN7030/)
  })
})

describe('rule 3: one signature, over the bytes as stored', () => {
  const headerOf = (bytes: Buffer) => /^gpgsig [^]*?\n(?! )/m.exec(bytes.toString('latin1'))?.[0] ?? ''
  const refused = (text: string) => verdict({ head: written('commit', text) })
  const child = () => {
    ids['child'] ??= on(good(), { 'fleet/a.ts': '3' }, 'ada')
    return rawOf(ids['child']).toString('latin1')
  }

  test('control: the same bytes, written again, are the same commit', async () => {
    expect(written('commit', child())).toBe(ids['child'])
    expect(await refused(child())).toBe('Verified')
  })
  test('two gpgsig headers, which git verify-commit accepts', async () => {
    expect(await refused(child().replace('gpgsig ', () => `${headerOf(rawOf(good()))}gpgsig `))).toMatch(
      /^Malformed: KN7015: .*2 signature headers/,
    )
  })
  test('gpgsig-sha256 beside it, or instead of it', async () => {
    const header = headerOf(Buffer.from(child(), 'latin1'))
    expect(
      await refused(child().replace('gpgsig ', () => `${header.replace('gpgsig', 'gpgsig-sha256')}gpgsig `)),
    ).toMatch(/^Malformed/)
    expect(await refused(child().replace('gpgsig ', 'gpgsig-sha256 '))).toMatch(/^Malformed/)
  })
  test('the signature of another commit', async () => {
    expect(await refused(child().replace(/^gpgsig [^]*?\n(?! )/m, () => headerOf(rawOf(good()))))).toMatch(
      /^BadSignature: KN7030: .*does not match the content/,
    )
  })
  test('another tree, another parent, another message under the same signature', async () => {
    expect(await refused(child().replace(/^tree .{40}/, 'tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904'))).toMatch(
      /^BadSignature/,
    )
    expect(await refused(child().replace('change', 'Change'))).toMatch(/^BadSignature/)
    expect(await refused(child().replace(/^parent .{40}/m, `parent ${anchor}`))).toMatch(/^BadSignature/)
  })
  test('a second tree or parent behind the committer, and a zero byte', async () => {
    for (const more of ['tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904', `parent ${anchor}`])
      expect(await refused(child().replace('gpgsig ', () => `${more}\ngpgsig `))).toMatch(/^Malformed/)
    expect(await refused(`${child()}\0hidden`)).toMatch(/^Malformed: KN7015: .*zero byte/)
  })
  test('a header in the message, and a signature in the message, are text', async () => {
    const header = headerOf(rawOf(good()))
    expect(
      await refused(
        child()
          .replace(/^gpgsig [^]*?\n(?! )/m, '')
          .concat(header),
      ),
    ).toMatch(/^Unsigned/)
    expect(await refused(child().replace('\n\n', () => `\n\n${header}`))).toMatch(/^BadSignature/)
  })
  test('line ends of another system in header or message', async () => {
    expect(await refused(child().replace(/\n$/, '\r\n'))).toMatch(/^BadSignature/)
    expect(await refused(child().replaceAll('\n', '\r\n'))).toMatch(/^Malformed/)
  })
  test('encoding and mergetag headers are part of what is signed', async () => {
    r.git('checkout', '--quiet', '--force', '--detach', good())
    r.git(
      '-c',
      'i18n.commitEncoding=ISO-8859-1',
      ...r.signedBy('ada'),
      'commit',
      '-S',
      '--quiet',
      '--allow-empty',
      '-m',
      'latin',
    )
    const encoded = published()
    expect(rawOf(encoded).toString('latin1')).toContain('\nencoding ISO-8859-1\n')
    expect(await verdict({ head: encoded })).toBe('Verified')
    expect(await refused(rawOf(encoded).toString('latin1').replace('encoding ISO-8859-1\n', ''))).toMatch(
      /^BadSignature/,
    )

    const side = on(good(), { 'fleet/tagged.ts': '1' }, 'ada')
    r.git(...r.signedBy('ada'), 'tag', '-s', '-m', 'side', `side-${side.slice(0, 8)}`, side)
    const head = merged(good(), [`side-${side.slice(0, 8)}`], 'ada')
    expect(rawOf(head).toString('latin1')).toContain('\nmergetag object ')
    expect(await verdict({ head })).toBe('Verified')
    // The signature of the tag is none of the commit.
    const stripped = rawOf(head)
      .toString('latin1')
      .replace(/^gpgsig [^]*?\n(?! )/m, '')
    expect(await refused(stripped)).toMatch(/^Unsigned/)
  })
  test('a truncated object, and one whose hash is another', async () => {
    expect(await refused(child().slice(0, 300))).toMatch(/^Malformed/)
    const id = createHash('sha1').update('nothing').digest('hex')
    r.copyInBare(good(), id)
    expect(await verdict({ head: id })).toMatch(/^Unreadable: KN7015: .*has the hash/)
  })
  test('a signature for something else than git', async () => {
    const payload = child().replace(/^gpgsig [^]*?\n(?! )/m, '')
    const armored = r.sign('ada', Buffer.from(payload, 'latin1'), 'file')
    const header = `gpgsig ${armored.trimEnd().replaceAll('\n', '\n ')}\n`
    expect(await refused(payload.replace('\n\n', () => `\n${header}\n`))).toMatch(/^BadSignature: .*made for "file"/)
  })
})

describe('rule 4: what a signer may change', () => {
  const signers = () => [signer('ada'), signer('bob', { paths: ['rules/**'] })]

  test('within the paths, outside, and a file that moves out', async () => {
    const inside = on(good(), { 'rules/r.ts': '2' }, 'bob')
    expect(await verdict({ head: inside, verify: { signers: signers() } })).toBe('Verified')
    const outside = on(good(), { 'rules/r.ts': '3', 'fleet/a.ts': 'x' }, 'bob')
    for (const mode of ['Head', 'FirstParent', 'All'] as const)
      expect(await verdict({ head: outside, verify: { signers: signers(), mode } })).toMatch(
        /^PathNotAllowed: KN7032: .*bob@example.org \(SHA256:.*\) may change rules\/\*\*, and it changes fleet\/a.ts/,
      )
    r.git('checkout', '--quiet', '--force', '--detach', good())
    r.git('mv', 'fleet/a.ts', 'rules/a.ts')
    r.git(...r.signedBy('bob'), 'commit', '-S', '--quiet', '-m', 'move')
    expect(await verdict({ head: published(), verify: { signers: signers() } })).toMatch(/changes fleet\/a.ts/)
  })

  test('an executable bit and a link are changes', async () => {
    r.git('checkout', '--quiet', '--force', '--detach', good())
    r.git('update-index', '--chmod=+x', 'fleet/a.ts')
    r.git(...r.signedBy('bob'), 'commit', '-S', '--quiet', '-m', 'mode')
    expect(await verdict({ head: published(), verify: { signers: signers() } })).toMatch(/^PathNotAllowed/)
  })

  test('an evil merge: the merger changes a file that neither side has like this', async () => {
    const side = on(good(), { 'rules/r.ts': 'side' }, 'bob')
    const main = on(good(), { 'rules/other.ts': 'main' }, 'bob')
    expect(await verdict({ head: merged(main, [side], 'bob'), verify: { signers: signers() } })).toBe('Verified')
    const evil = merged(main, [side], 'bob', () => r.write({ 'fleet/a.ts': 'evil' }))
    expect(await verdict({ head: evil, verify: { signers: signers() } })).toMatch(/^PathNotAllowed: .*fleet\/a.ts/)
  })

  test('an evil merge: the merger drops a fix of the other side', async () => {
    const fix = on(good(), { 'fleet/a.ts': 'fixed' }, 'ada')
    const side = on(good(), { 'rules/r.ts': 'side2' }, 'bob')
    // Merging main into one's own branch is no change of main.
    expect(await verdict({ head: merged(side, [fix], 'bob'), verify: { signers: signers() } })).toBe('Verified')
    const dropped = merged(fix, [side], 'bob', () => r.write({ 'fleet/a.ts': '2' }))
    expect(await verdict({ head: dropped, verify: { signers: signers() } })).toMatch(/^PathNotAllowed: .*fleet\/a.ts/)
    const other = merged(side, [fix], 'bob', () => r.write({ 'fleet/a.ts': '2' }))
    expect(await verdict({ head: other, verify: { signers: signers() } })).toMatch(/^PathNotAllowed: .*fleet\/a.ts/)
  })

  test('an octopus counts with all that it has otherwise than any parent', async () => {
    const sides = ['o1', 'o2'].map((n) => on(good(), { [`rules/${n}.ts`]: n }, 'bob'))
    expect(await verdict({ head: merged(good(), sides, 'bob'), verify: { signers: signers() } })).toBe('Verified')
    const more = [...sides, on(good(), { 'fleet/o3.ts': '1' }, 'ada')]
    expect(await verdict({ head: merged(good(), more, 'bob'), verify: { signers: signers() } })).toMatch(
      /^PathNotAllowed/,
    )
    expect(await verdict({ head: merged(good(), more, 'ada'), verify: { signers: signers() } })).toBe('Verified')
  })

  test('an octopus whose first parent is an old commit puts back no path of others', async () => {
    const old = on(good(), { 'rules/old.ts': '1' }, 'bob')
    const fix = on(old, { 'fleet/a.ts': 'fixed' }, 'ada')
    const side = on(old, { 'rules/o4.ts': '4' }, 'bob')
    const head = r.mergeAs(old, [old, fix, side], 'bob')
    expect(await verdict({ head, verify: { signers: signers() } })).toMatch(/^PathNotAllowed: .*fleet\/a.ts/)
  })

  test('nor does a merge of two lines that crossed before', async () => {
    const [x, y] = ['x', 'y'].map((n) => on(good(), { [`rules/${n}.ts`]: n }, 'bob')) as [string, string]
    const trunk = merged(x, [y], 'bob')
    const fix = on(trunk, { 'fleet/a.ts': 'fixed' }, 'ada')
    const again = merged(y, [x], 'bob')
    const head = r.mergeAs(again, [again, fix], 'bob')
    expect(await verdict({ head, verify: { signers: signers() } })).toMatch(/^PathNotAllowed: .*fleet\/a.ts/)
  })
})

describe('rule 5: signers never come from the commit under judgement', () => {
  const file = { path: 'trust/signers.yaml', count: 1 }

  test('a key that the commit itself adds', async () => {
    const head = on(good(), { 'trust/signers.yaml': signersFile('bob', 'eve') }, 'eve')
    expect(await verdict({ head, verify: { signersFile: file } })).toMatch(/^UnknownKey/)
  })
  test('a key of the file of the last verified commit, and one that a signer added before', async () => {
    expect(await verdict({ head: on(good(), { 'fleet/a.ts': 'f' }, 'bob'), verify: { signersFile: file } })).toBe(
      'Verified',
    )
    const added = on(good(), { 'trust/signers.yaml': signersFile('bob', 'eve') }, 'bob')
    expect(await verdict({ head: on(added, { 'fleet/a.ts': 'f2' }, 'eve'), verify: { signersFile: file } })).toBe(
      'Verified',
    )
    // Removed by a commit, the key is refused from the next one on.
    const removed = on(added, { 'trust/signers.yaml': signersFile('bob') }, 'ada')
    expect(await verdict({ head: on(removed, { 'fleet/a.ts': 'f3' }, 'eve'), verify: { signersFile: file } })).toMatch(
      /^UnknownKey/,
    )
  })
  test('a key that is added on a branch that is merged later is none for that branch', async () => {
    const side = on(
      on(good(), { 'trust/signers.yaml': signersFile('bob', 'eve') }, 'eve'),
      { 'fleet/s.ts': '1' },
      'eve',
    )
    expect(await verdict({ head: merged(good(), [side], 'ada'), verify: { signersFile: file } })).toMatch(/^UnknownKey/)
  })
  test('a change of the file takes two people unless the hub says otherwise', async () => {
    const head = on(good(), { 'trust/signers.yaml': signersFile('bob', 'eve') }, 'bob')
    const verify = { signersFile: { ...file, count: 2 } }
    expect(await verdict({ head, verify })).toMatch(
      /^ApprovalsMissing: KN7037: .*trust\/signers.yaml takes 2 signers, and 1 has agreed/,
    )
    expect(await verdict({ head, verify, approvers: { [head]: ['ada'] } })).toBe('Verified')
    // Whom the commit adds does not count.
    expect(await verdict({ head, verify, approvers: { [head]: ['eve'] } })).toMatch(/^ApprovalsMissing/)
  })
  test('a file that cannot be used stops, and does not loosen', async () => {
    const broken = on(good(), { 'trust/signers.yaml': 'signers: [{ principal: x, keys: [nonsense] }]' }, 'ada')
    expect(await verdict({ head: on(broken, { 'fleet/a.ts': 'q' }, 'ada'), verify: { signersFile: file } })).toMatch(
      /^InvalidPolicy: KN7043: .*trust\/signers.yaml of the verified commit/,
    )
    const wider = on(good(), { 'trust/signers.yaml': JSON.stringify({ mode: 'Off', signers: [] }) }, 'ada')
    expect(await verdict({ head: on(wider, { 'fleet/a.ts': 'q' }, 'ada'), verify: { signersFile: file } })).toMatch(
      /has the field mode/,
    )
  })
  test('a FleetSource that the commit renders is not applied', () => {
    const objects = [sourceOf({ verify: { mode: 'Off' } })].map((object) => ({ ref: refOf(object), object }))
    const targets = new Map([['hub', { objects, rejected: [] }]]) as unknown as Parameters<typeof withinScope>[0]
    expect(withinScope(targets, sourceOf({})).get('hub')).toMatchObject({
      objects: [],
      rejected: [{ problem: expect.stringMatching(/^KN7044/) }],
    })
    expect(withinScope(targets, sourceOf({ verify: { mode: 'Off' } })).get('hub')?.objects).toHaveLength(1)
  })
})

describe('rule 6: more than one person', () => {
  const verify = () => ({ signers: [signer('ada'), signer('bob')], thresholds: [{ paths: ['rules/**'], count: 2 }] })

  test('the signer, and Approvals of other signers', async () => {
    const head = on(good(), { 'rules/r.ts': '9' }, 'ada')
    const trust = await judge({ head, verify: verify() })
    expect(trust).toMatchObject({
      kind: 'Refused',
      reason: 'ApprovalsMissing',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    for (const by of [['ada'], ['eve'], ['ada', 'eve']])
      expect(await verdict({ head, verify: verify(), approvers: { [head]: by } })).toMatch(/^ApprovalsMissing/)
    expect(await verdict({ head, verify: verify(), approvers: { [head]: ['bob'] } })).toBe('Verified')
    // An approver of a commit has seen what lies below, and nothing above.
    const next = on(head, { 'fleet/a.ts': 'n' }, 'ada')
    expect(await verdict({ head: next, verify: verify(), approvers: { [next]: ['bob'] } })).toBe('Verified')
    const again = on(head, { 'rules/r.ts': '10' }, 'ada')
    expect(await verdict({ head: again, verify: verify(), approvers: { [head]: ['bob'] } })).toContain(
      again.slice(0, 12),
    )
  })
  test('an approver whose key is revoked, expired or for other paths does not count', async () => {
    const head = on(good(), { 'rules/r.ts': '11' }, 'ada')
    const approvers = { [head]: ['bob'] }
    const base = verify()
    const revoked = [{ key: r.fingerprint('bob') }]
    expect(await verdict({ head, approvers, verify: { ...base, revoked } })).toMatch(/^ApprovalsMissing/)
    for (const more of [{ until: '2026-01-01T00:00:00Z' }, { paths: ['fleet/**'] }, { forge: true }, { reverts: true }])
      expect(
        await verdict({ head, approvers, verify: { ...base, signers: [signer('ada'), signer('bob', more)] } }),
      ).toMatch(/^ApprovalsMissing/)
  })
})

describe('rule 7: the key of a forge', () => {
  test('counts only together with an Approval of a person', async () => {
    const head = on(good(), { 'fleet/a.ts': 'w' }, 'forge')
    const verify = { signers: [signer('ada'), signer('forge', { forge: true })] }
    expect(await verdict({ head, verify })).toMatch(/^ApprovalsMissing: KN7037: .*forge/)
    expect(await verdict({ head, verify, approvers: { [head]: ['ada'] } })).toBe('Verified')
    expect(await verdict({ head, verify, approvers: { [head]: ['forge'] } })).toMatch(/^ApprovalsMissing/)
  })
})

describe('rule 8: tags', () => {
  const ref = { tag: 'v1' }
  const tagged = (name: string, target: string, ...how: readonly string[]) => {
    r.git(...r.signedBy('ada'), 'tag', '--force', ...how, name, target)
    r.git('push', '--quiet', '--force', 'origin', `refs/tags/${name}`)
  }

  test('annotated, signed, of its own name, on a verified commit', async () => {
    tagged('v1', good(), '-s', '-m', 'one')
    for (const mode of ['Head', 'FirstParent', 'All'] as const)
      expect(await verdict({ head: good(), ref, verify: { mode } })).toBe('Verified')
    const unsigned = on(good(), { 'fleet/a.ts': 'tag' }, undefined)
    tagged('v1', unsigned, '-s', '-m', 'one')
    expect(await verdict({ head: unsigned, ref })).toMatch(/^Unsigned/)
    expect(await verdict({ head: unsigned, ref, verify: { mode: 'Head' } })).toBe('Verified')
  })
  test('a tag that is lightweight, unsigned, or was made under another name', async () => {
    tagged('v1', good(), '--no-sign')
    expect(await verdict({ head: good(), ref })).toMatch(/^TagRefused: KN7039: .*"v1": it is not annotated/)
    tagged('v1', good(), '-a', '--no-sign', '-m', 'x')
    expect(await verdict({ head: good(), ref })).toMatch(/^Unsigned: .*the tag|^Unsigned: KN7030: cannot follow tag/)
    tagged('v2', good(), '-s', '-m', 'two')
    r.inBare(['update-ref', 'refs/tags/v1', r.git('rev-parse', 'v2')])
    expect(await verdict({ head: good(), ref })).toMatch(/^TagRefused: .*made under the name "v2"/)
  })
  test('a signed tag on a commit that two programs read differently', async () => {
    const text = rawOf(good()).toString('latin1')
    const twice = text.replace(/^gpgsig /m, () => 'tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\ngpgsig ')
    const head = written('commit', twice)
    tagged('v1', head, '-s', '-m', 'twice')
    expect(await verdict({ head, ref, verify: { mode: 'Head' } })).toMatch(/^Malformed: KN7015/)
  })
  test('a tag that moves back is HistoryRewritten', async () => {
    tagged('v1', anchor, '-s', '-m', 'back')
    const verified = { commit: good(), anchor, firstSeen: '2026-11-22T11:00:00Z' }
    expect(await verdict({ head: anchor, ref, verified })).toMatch(/^HistoryRewritten/)
  })
  test('a branch of the name refs/tags/v1 is not the tag', async () => {
    const evil = on(good(), { 'fleet/a.ts': 'confused' }, 'eve')
    tagged('v1', good(), '-s', '-m', 'one')
    r.inBare(['update-ref', 'refs/heads/refs/tags/v1', evil])
    expect(await openLocalRepository(r.url).resolve('refs/tags/v1')).toBe(good())
  })
})

describe('rule 9: what is reported', () => {
  test('each refusal names commit, key and what to do, and keeps the last verified commit', async () => {
    const verified = { commit: good(), anchor, firstSeen: '2026-11-22T11:00:00Z', key: r.fingerprint('ada') }
    const head = on(good(), { 'fleet/a.ts': 'z' }, 'eve')
    const trust = await judge({ head, verified, now: NOW + HOUR_MS })
    expect(trust).toMatchObject({
      kind: 'Refused',
      head,
      verified,
      seen: [{ commit: head, at: '2026-11-22T13:00:00Z' }],
    })
    expect(said(trust)).toContain(r.fingerprint('eve'))
    expect(said(trust)).toMatch(/; have a signer sign it/)
  })
  test('a policy that cannot be used is reported and follows nothing', async () => {
    const two = [signer('ada'), { ...signer('ada'), principal: 'other@example.org' }]
    expect(await verdict({ head: good(), verify: { signers: two } })).toMatch(
      /^InvalidPolicy: KN7042: .*is that of ada@example.org and of other@example.org/,
    )
    const broken = [{ principal: 'x', keys: ['ssh-ed25519 AAAA'] }]
    expect(await verdict({ head: good(), verify: { signers: broken } })).toMatch(/^InvalidPolicy: KN7042: .*a key of x/)
  })
})

describe('rule 10: an emergency key may only go back', () => {
  test('to the files of an earlier commit', async () => {
    const verify = { signers: [signer('ada'), signer('bob', { reverts: true })] }
    const change = on(good(), { 'fleet/a.ts': 'broken' }, 'ada')
    expect(await verdict({ head: on(change, { 'fleet/a.ts': '2' }, 'bob'), verify })).toBe('Verified')
    expect(await verdict({ head: on(change, { 'fleet/a.ts': 'mine' }, 'bob'), verify })).toMatch(/^NotARevert: KN7036/)
  })
  test('never with removed signers, unless a signer agrees', async () => {
    const verify = {
      signers: [signer('ada'), signer('forge', { reverts: true })],
      signersFile: { path: 'trust/signers.yaml', count: 1 },
    }
    const change = on(good(), { 'trust/signers.yaml': signersFile('bob', 'eve'), 'fleet/a.ts': 'broken' }, 'ada')
    const head = on(change, { 'trust/signers.yaml': signersFile('bob'), 'fleet/a.ts': '2' }, 'forge')
    expect(await verdict({ head, verify })).toMatch(
      /^ApprovalsMissing: .*trust\/signers.yaml takes 2 signers, and 1 has/,
    )
    expect(await verdict({ head, verify, approvers: { [head]: ['ada'] } })).toBe('Verified')
    const broken = on(good(), { 'fleet/a.ts': 'broken again' }, 'ada')
    expect(await verdict({ head: on(broken, { 'fleet/a.ts': '2' }, 'forge'), verify })).toBe('Verified')
  })
})
