// What our annotations on a Node say decides what our programs take off it: which taints and labels are ours, who cordoned it, who fenced it, whose Node it
// is. A kubelet may annotate its own Node, so with its key a node would otherwise shed the taints that keep pods of others away from it.
import { API_GROUP } from '#api/kind.ts'
import { all, inGroup, type AdmissionPolicy } from './policy.ts'

const OURS = `k.startsWith('${API_GROUP}/')`
const marksOf = (object: 'object' | 'oldObject'): string =>
  `${object} == null ? {} : ${object}.metadata.?annotations.orValue({})`
/** Each KubeNode annotation on one side is the same on the other. */
const isKept = (from: string, to: string): string =>
  `variables.${from}.all(k, !${OURS} || (k in variables.${to} && variables.${to}[k] == variables.${from}[k]))`

const marks: AdmissionPolicy = {
  name: 'kubenode-node-marks',
  rules: [
    // A request for the status may change annotations, too.
    { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['nodes', 'nodes/status'] },
  ],
  matchConditions: [{ name: 'by-a-kubelet', expression: inGroup('system:nodes') }],
  variables: [
    { name: 'now', expression: marksOf('object') },
    { name: 'before', expression: marksOf('oldObject') },
  ],
  validations: [
    {
      expression: all(isKept('now', 'before'), isKept('before', 'now')),
      message: `a kubelet does not write the annotations of ${API_GROUP} of its Node: by them KubeNode knows which taints, labels and cordons are its own`,
    },
  ],
}

export const nodePolicies: readonly AdmissionPolicy[] = [marks]
