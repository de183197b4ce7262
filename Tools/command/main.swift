import FirnTool

Program.run()
