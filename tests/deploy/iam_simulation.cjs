// Reads simulations of IAM as JSON, and prints for each whether the call is allowed, and which statements say so.
// NODE_PATH has the folder of @cloud-copilot/iam-simulate.
const { runSimulation, runUnsafeSimulation } = require('@cloud-copilot/iam-simulate')

async function decide(simulation) {
  const answer = await runSimulation(simulation, {})
  // An ARN that is both an alias and a version: the policies can be asked all the same, but do not say which statement decides.
  if (answer.errors?.message === 'multiple.resource.types') return { result: runUnsafeSimulation(simulation, {}), ignored: [] }
  if (answer.resultType === 'error') return { error: answer.errors }
  const decided = answer.result ?? answer.results[0]
  // No statement is about any resource of this action.
  if (!decided) return { result: answer.overallResult, ignored: [] }
  const { analysis, ignoredContextKeys } = decided
  const statements = (part, effect) => (part?.[`${effect}Statements`] ?? []).map(({ statement }) => statement)
  return {
    result: answer.overallResult,
    ignored: ignoredContextKeys,
    allowedBy: statements(analysis.identityAnalysis, 'allow'),
    boundedBy: statements(analysis.permissionBoundaryAnalysis, 'allow'),
    deniedBy: statements(analysis.resourceAnalysis, 'deny'),
  }
}

async function main() {
  let input = ''
  for await (const chunk of process.stdin) input += chunk
  const decisions = []
  for (const simulation of JSON.parse(input)) decisions.push(await decide(simulation))
  console.log(JSON.stringify(decisions))
}

main()
