// Pure: what a new cloud host gets so that it joins: the join line, as cloud-init user data. Equal bundles give equal texts, because a cloud treats a
// repeated create as the same one only if all of its content is the same.
import type { JoinBundle } from '#api/join-bundle.ts'
import { cloudInit } from './cloud-init.ts'
import { joinLine } from './join-line.ts'

export const userData = (bundle: JoinBundle): string => cloudInit(joinLine({ machine: bundle.machine, bundle }, {}))
