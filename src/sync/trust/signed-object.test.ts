import { expect, test } from 'vitest'
import { parseLinks, parseSignedCommit } from './signed-object.ts'

const TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const HEAD = `tree ${TREE}\nparent ${'a'.repeat(40)}\nparent ${'b'.repeat(40)}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 7 +0000\n`
const SIGNATURE = 'gpgsig -----BEGIN SSH SIGNATURE-----\n U1NI\n -----END SSH SIGNATURE-----\n'
const parsed = (text: string) => parseSignedCommit(Buffer.from(text))

test('the payload is every byte but the signature header', () => {
  const rest = 'encoding latin1\nHG:extra x\n'
  const commit = parsed(`${HEAD}${rest}${SIGNATURE}mergetag object x\n type commit\n gpgsig no header\n\nmessage\n`)
  expect(commit).toMatchObject({ tree: TREE, parents: ['a'.repeat(40), 'b'.repeat(40)], time: 7 })
  expect(commit.signature).toBe('-----BEGIN SSH SIGNATURE-----\nU1NI\n-----END SSH SIGNATURE-----')
  expect(commit.payload.toString()).toBe(
    `${HEAD}${rest}mergetag object x\n type commit\n gpgsig no header\n\nmessage\n`,
  )
})

test('a commit without a message, and one without parents', () => {
  expect(parsed(HEAD)).toMatchObject({ parents: ['a'.repeat(40), 'b'.repeat(40)] })
  expect(parsed(`tree ${TREE}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 7 +0000\n\n`)).toMatchObject({ parents: [] })
})

test.each([
  ['two signatures', `${HEAD}${SIGNATURE}${SIGNATURE}\n`],
  ['a signature of each kind', `${HEAD}${SIGNATURE}${SIGNATURE.replace('gpgsig', 'gpgsig-sha256')}\n`],
  ['a signature of the other kind only', `${HEAD}${SIGNATURE.replace('gpgsig', 'gpgsig-sha256')}\n`],
  ['a second author', `${HEAD}author B <b@b> 1 +0000\n\n`],
  ['a tree behind', `${HEAD}tree ${TREE}\n\n`],
  ['a parent behind', `${HEAD}parent ${TREE}\n\n`],
  ['a zero byte in the message', `${HEAD}\nx\0y\n`],
  ['no committer', HEAD.replace(/committer.*\n/, '')],
  ['a tree that is none', HEAD.replace(TREE, 'x')],
  ['a header without an end', HEAD.slice(0, -1)],
  ['a line that is no header', `${HEAD}%\n\n`],
  ['nothing', ''],
])('%s is refused', (_, text) => {
  expect(() => parsed(text)).toThrow()
})

test('links of an old commit are read also where its signature is none', () => {
  expect(parseLinks(Buffer.from(`${HEAD}${SIGNATURE}${SIGNATURE}\n`))).toMatchObject({ tree: TREE, time: 7 })
})
