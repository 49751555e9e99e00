// Prints the command that turns an existing host into the named machine, or user data that runs it.
import { resolve } from 'node:path'
import { cloudInit } from '#agent/join/cloud-init.ts'
import { joinTicket, validity } from '#agent/join/join-command.ts'
import { type HostOptions, MAX_LINE_CHARS, joinLine, requireProxy } from '#agent/join/join-line.ts'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import { machine } from '#api/kinds/machine.ts'
import { findObject } from '#explain/objects/find-object.ts'
import { handOverKey } from '#identity/join-token.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { readBounded } from '#lib/bounded-file.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { Io } from '#lib/terminal/io.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface JoinAsked extends HostOptions {
  readonly cloudInit?: boolean
  readonly offline?: boolean
  readonly joinScript?: string
}

export async function printJoinLine(
  name: string,
  options: JoinAsked,
  io: Io,
  reach: () => Promise<KubeClient>,
): Promise<void> {
  requireProxy(options)
  const script = options.joinScript === undefined ? undefined : scriptDigest(resolve(io.cwd, options.joinScript))
  const client = await reach()
  const found = await findObject(client, machine, name)
  const secrets = coreKind('Secret')
  const token = await client.get(secrets, handOverKey(found.metadata.uid ?? ''))
  const ticket = joinTicket(found, token === undefined ? [] : [token], systemClock.now())
  const line = joinLine(ticket, { ...options, ...defined({ script }) })
  io.out(options.cloudInit === true ? cloudInit(line) : `${line}\n`)
  io.err(shownLine(validity(ticket)))
  if (options.cloudInit !== true && line.length > MAX_LINE_CHARS)
    io.err(shownLine(`the line has ${line.length} characters: paste it into bash, or pipe it into ssh HOST sh`))
}

function scriptDigest(file: string): string {
  try {
    return sha256Hex(readBounded(file))
  } catch (cause) {
    throw new KubeNodeError(machinesErrors.KN1367_file({ file, why: systemTrouble(cause) }), { cause })
  }
}
