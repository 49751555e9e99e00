// Puts a trust document into a node's folder on this host. The agent uses it instead of the one in force before it installs anything else.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { anchorOf, judgeTrust, parseSignedTrust } from '#api/trust/trust-document.ts'
import { nodeDir, trustFromHostFile } from '../node-dir.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { artifactErrors } from '#artifacts/authoring/artifact-errors.ts'
import { requireTrustedFolder } from '#lib/trusted-folder.ts'
import { readJson } from '#artifacts/authoring/statement-file.ts'

/** Returns the document's sequence. */
export function putTrustOnHost(trustPath: string, root: string, now: number): number {
  const signed = parseSignedTrust(readJson(trustPath, 'trust document'))
  const verdict = judgeTrust({ ...anchorOf(signed?.document ?? NONE), sequence: 0 }, signed, now)
  if (signed === undefined || verdict.kind === 'Refused') {
    const reason = verdict.kind === 'Refused' ? verdict.reason : 'it is not a trust document'
    throw new KubeNodeError(artifactErrors.KN1024_damaged({ trust: trustPath, why: reason }))
  }
  if (!existsSync(join(root, 'state'))) throw new KubeNodeError(artifactErrors.KN1112({ root }))
  requireTrustedFolder(root)
  writeWholeFile(trustFromHostFile(nodeDir(root)), JSON.stringify(signed))
  return signed.document.sequence
}

const NONE = { sequence: 0, threshold: 1, keys: [], expires: '', revoked: [], floors: {} }

/** Folders of the process nodes of a local fleet. */
export function nodesOfLocalFleet(data: string): readonly string[] {
  return readdirSync(data, { withFileTypes: true })
    .filter((e) => e.isDirectory())
    .map((e) => join(data, e.name, 'nodes'))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .filter((path) => existsSync(join(path, 'state')))
}
