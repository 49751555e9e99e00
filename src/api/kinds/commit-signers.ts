// Who may sign a fleet's commits, declared in a FleetSource or a file of its repository.
import * as s from '../build.ts'

const MAX_SIGNERS = 64
const MAX_KEYS = 8
const MAX_PATHS = 32
const MAX_REVOKED = 128
const MAX_THRESHOLDS = 16
/** An OpenPGP certificate with some subkeys has 6,000; a 16,384-bit SSH key 2,800. */
const MAX_KEY_CHARS = 16_384

const paths = (doc: string, min = 1) =>
  s.setOf(
    doc,
    s.str('A path from the root of the repository; * matches within a name, ** any number of folders.', {
      min: 1,
      max: 256,
      pattern: '^[^/\\x00-\\x1f]+(/[^/\\x00-\\x1f]+)*$',
      expects: 'a path such as fleet/** or rules/*.ts, without a leading or trailing slash',
    }),
    { min, max: MAX_PATHS },
  )

const signer = s.obj('A person or program that may sign commits.', {
  principal: s.str('The name, as the API server knows the person: an Approval counts for the signer of this name.', {
    min: 1,
    max: 253,
  }),
  keys: s.list(
    'Public keys.',
    s.str(
      'An SSH public key such as ssh-ed25519 AAAA…: Ed25519, ECDSA, RSA with at least 3072 bits, or a hardware key of the first two. Or an OpenPGP public key, as gpg --armor --export prints it.',
      {
        min: 1,
        max: MAX_KEY_CHARS,
        pattern:
          '^((ssh-|ecdsa-|sk-)[^\\x00-\\x1f]+|-----BEGIN PGP PUBLIC KEY BLOCK-----\\r?\\n[A-Za-z0-9+/=:. (),@<>_\\r\\n-]+)$',
        expects: 'an SSH public key on one line, or an OpenPGP public key block',
      },
    ),
    { min: 1, max: MAX_KEYS },
  ),
  paths: s.optional(paths('What the signer may change; everything when left out.')),
  since: s.optional(s.time('Commits that were first seen before are refused.')),
  until: s.optional(s.time('Commits that were first seen at this time or later are refused.')),
  forge: s.optional(
    s.bool('The key of a forge, which signs every merge: counts only together with an Approval of a signer.'),
  ),
  reverts: s.optional(
    s.bool('Only commits whose files are those of an earlier commit that was followed: an emergency key.'),
  ),
  sync: s.optional(
    s.bool(
      'The key that sync signs reverts with: only commits that revert one named commit, path by path, as it was before, and nothing else. Counts as no person.',
    ),
  ),
})

export const signersFields = {
  signers: s.optional(s.mapList('Who may sign.', signer, { keys: ['principal'], max: MAX_SIGNERS })),
  revoked: s.optional(
    s.mapList(
      'Keys that were stolen or lost. A key that ends as planned has an until instead.',
      s.obj('A revoked key.', {
        key: s.str(
          'The fingerprint: SHA256:… as ssh-keygen -l shows it, or the 40 digits of an OpenPGP key or subkey.',
          {
            min: 1,
            max: 128,
            pattern: '^(SHA256:[A-Za-z0-9+/]{43}|[0-9A-F]{40})$',
            expects: 'SHA256: and 43 characters, or 40 hexadecimal digits in capitals',
          },
        ),
        since: s.optional(
          s.time('Commits that were first seen at this time or later are refused; all of the key when left out.'),
        ),
      }),
      { keys: ['key'], max: MAX_REVOKED },
    ),
  ),
  thresholds: s.optional(
    s.list(
      'Changes that need more than one person: the signer, and Approvals of other signers.',
      s.obj('One threshold.', {
        paths: paths('Changes of these.'),
        count: s.int('People.', { min: 2, max: 8 }),
      }),
      { max: MAX_THRESHOLDS },
    ),
  ),
}
