// One hold in one line: what it does, until when, who created it and why. Pure.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'

export const holdLine = ({ metadata, spec }: Pick<OperationalHold, 'metadata' | 'spec'>): string =>
  `operationalhold/${metadata.name ?? ''}: ${spec.effect} until ${spec.until} by ${spec.author}: ${spec.reason}`
