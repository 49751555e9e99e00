// The key to which this machine's secret values are sealed: created once, readable only by the agent.
import { join } from 'node:path'
import { newSealingKey, publicKeyOf, type SealingKey } from '#api/sealed.ts'
import { writeDurably } from '../files/durable.ts'
import type { IdentityDeps } from './identity.ts'

export async function sealingKey({ files, dir }: IdentityDeps): Promise<SealingKey> {
  const path = join(dir.state, 'identity', 'sealing.key')
  const pem = (await files.read(path))?.toString('utf8')
  try {
    if (pem !== undefined) return { privateKey: pem, publicKey: publicKeyOf(pem) }
  } catch {
    // The key is damaged: publish a new one, and everything is sealed again.
  }
  const made = newSealingKey()
  await writeDurably(files, path, made.privateKey, 0o600)
  return made
}
