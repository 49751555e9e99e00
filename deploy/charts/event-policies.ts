// Each program writes only its own events. People and dashboards trust the name that an event is reported under, so the key of one program must not report for
// another, for an agent, or for Kubernetes; nor must that of a kubelet, which may write events anywhere. Events of users and of other programs are not restricted here.
import { API_GROUP } from '#api/kind.ts'
import { AGENT_SOURCES_PREFIX, agentUser, PROGRAM_REPORTERS } from '#api/names.ts'
import { isOurProgram } from './account-policies.ts'
import { all, any, inGroup, isInstaller, isProgram, quoted, type AdmissionPolicy } from './policy.ts'
import { PROGRAMS } from './system.ts'

const NEW_FORM = `request.resource.group == 'events.k8s.io'`
/** Both forms of an event are one object, under other field names. */
const reporterOf = (object: 'object' | 'oldObject'): string =>
  `(${NEW_FORM} ? ${object}.?reportingController.orValue('') : ${object}.?reportingComponent.orValue(''))`
const sourceOf = (object: 'object' | 'oldObject'): string =>
  `(${NEW_FORM} ? ${object}.?deprecatedSource.?component.orValue('') : ${object}.?source.?component.orValue(''))`

/** Of a repeated event the old one counts too: it must have been the writer's own. */
const both = (isOwn: (object: 'object' | 'oldObject') => string): string =>
  all(isOwn('object'), any('oldObject == null', isOwn('oldObject')))

const isOurs = (name: string): string =>
  any(...[`${API_GROUP}/`, AGENT_SOURCES_PREFIX].map((prefix) => `${name}.startsWith(${quoted(prefix)})`))

const programEvents: AdmissionPolicy = {
  name: 'kubenode-events',
  rules: [
    { apiGroups: ['', 'events.k8s.io'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['events'] },
  ],
  matchConditions: [
    // Agents have more than one name each; policy kubenode-agents holds them to their own.
    {
      name: 'a-program',
      expression: all(isOurProgram, `!request.userInfo.username.startsWith(${quoted(agentUser(''))})`),
    },
  ],
  variables: [{ name: 'isProgram', expression: any(...PROGRAMS.map(isProgram)) }],
  validations: PROGRAMS.map((program) => ({
    expression: any(
      `!(${isProgram(program)})`,
      both((object) =>
        all(
          NEW_FORM,
          `${reporterOf(object)} in [${PROGRAM_REPORTERS[program].map(quoted).join(', ')}]`,
          `${sourceOf(object)} == ''`,
        ),
      ),
      isInstaller,
    ),
    message: `${program} writes events only as ${PROGRAM_REPORTERS[program].join(', ')}, and changes no others`,
  })).concat({
    expression: any(
      'variables.isProgram',
      both((object) => `!(${any(isOurs(reporterOf(object)), isOurs(sourceOf(object)))})`),
      isInstaller,
    ),
    message: `an account beside the programs writes events only as itself, and none as a part of ${API_GROUP}`,
  }),
}

const objectOf = (object: 'object' | 'oldObject'): string =>
  `(${NEW_FORM} ? ${object}.?regarding.?apiVersion.orValue('') : ${object}.?involvedObject.?apiVersion.orValue(''))`

/** A kubelet has no reason to write about Machines, permits and the like; what it writes about pods and Nodes is its own. */
const kubeletEvents: AdmissionPolicy = {
  name: 'kubenode-kubelet-events',
  rules: programEvents.rules,
  matchConditions: [{ name: 'by-a-kubelet', expression: inGroup('system:nodes') }],
  variables: [],
  validations: [
    {
      expression: both((object) => `!(${any(isOurs(reporterOf(object)), isOurs(sourceOf(object)))})`),
      message: `a kubelet writes no events as a part of ${API_GROUP}, and changes none`,
    },
    {
      expression: both(
        (object) => `!${objectOf(object)}.startsWith(${quoted(`${API_GROUP}/`)}) && !has(${object}.related)`,
      ),
      message: `a kubelet writes no events about objects of ${API_GROUP}`,
    },
  ],
}

export const eventPolicies: readonly AdmissionPolicy[] = [programEvents, kubeletEvents]
