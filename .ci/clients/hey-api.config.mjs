// Node.js runs the generated client as it is: its imports name their files.
export default { output: { path: "hey_api", module: { extension: ".ts" } }, plugins: ["@hey-api/client-fetch"] };
