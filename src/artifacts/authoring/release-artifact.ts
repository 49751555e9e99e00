// Packs, signs and verifies what agents install, for the command line.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Signer } from '#api/trust/keys.ts'
import { judgeStatement, signStatement } from '#api/trust/statement.ts'
import { anchorOf, judgeTrust, parseSignedTrust } from '#api/trust/trust-document.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { artifactErrors } from './artifact-errors.ts'
import { packFolder } from './pack.ts'
import { readJson, readStatement, readText, readUnpackedStatement, writeJson } from './statement-file.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface PackOptions {
  readonly output: string
  readonly statement?: string
  readonly url?: string
  readonly os: string
  readonly arch: string
}

export async function pack(folder: string, options: PackOptions, io: Io): Promise<void> {
  const packed = await packFolder(folder, options.output)
  if (options.statement !== undefined) {
    const entry = {
      os: options.os,
      arch: options.arch,
      url: options.url ?? basename(options.output),
      sha256: packed.sha256,
      size: packed.size,
    }
    writeJson(options.statement, readUnpackedStatement(options.statement, entry))
    io.err(`${options.statement} names the new digest; sign it with kubenode artifact sign\n`)
  }
  io.out(`${JSON.stringify({ file: options.output, ...packed })}\n`)
}

export async function sign(path: string, { key }: { key: string }, io: Io): Promise<void> {
  const signer = new Signer(readText(key, 'signing key'))
  const statement = readStatement(path)
  // Signed bytes leave out defaults, so both the input form and the stored form work.
  const spec = signStatement(statement.spec as Parameters<typeof signStatement>[0], signer)
  writeJson(path, { ...statement, spec })
  io.out(`${path}: signed by ${signer.publicKey.keyId}\n`)
}

export async function verify(path: string, options: { trust: string; artifact?: string }, io: Io): Promise<void> {
  const signed = parseSignedTrust(readJson(options.trust, 'trust document'))
  if (signed === undefined) throw new KubeNodeError(artifactErrors.KN1024_used({ trust: options.trust }))
  const now = Date.now()
  const self = judgeTrust({ ...anchorOf(signed.document), sequence: 0 }, signed, now)
  if (self.kind === 'Refused')
    throw new KubeNodeError(artifactErrors.KN1024_damaged({ trust: options.trust, why: self.reason }))
  const statement = readStatement(path)
  const verdict = judgeStatement(statement.spec as Parameters<typeof judgeStatement>[0], self.trust, now)
  if (verdict.kind === 'Refused') throw new KubeNodeError(artifactErrors.KN1108({ path, why: verdict.reason }))
  if (options.artifact !== undefined) {
    const digest = sha256Hex(readFileSync(options.artifact))
    if (!(statement.spec.artifacts ?? []).some((a) => a.sha256 === digest)) {
      throw new KubeNodeError(artifactErrors.KN1108_digest({ artifact: options.artifact, digest, path }))
    }
  }
  io.out(`${path}: ${statement.spec.component} ${statement.spec.version} is trusted\n`)
}
